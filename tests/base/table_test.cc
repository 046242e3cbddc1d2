// Whole tables, as they stand on a terminal.
#include "base/table.h"

#include "base/errors.h"
#include "tests/catch.h"

namespace shardplan {

TEST_CASE("Columns are padded, text to the left, numbers to the right") {
  Table table({{"model", Table::Align::kLeft}, {"layers"}, {"note", Table::Align::kLeft}});
  table.add_row({"llama-3.1-8b", "32", "dense"});
  table.add_row({"v3", "61", ""});
  CHECK(table.text() ==
        "model         layers  note\n"
        "------------  ------  -----\n"
        "llama-3.1-8b      32  dense\n"
        "v3                61\n");
}

TEST_CASE("Width counts characters, not bytes") {
  Table table({{"µs", Table::Align::kLeft}, {"n"}});
  table.add_row({"±3", "1"});
  CHECK(table.text() == "µs  n\n--  -\n±3  1\n");
}

TEST_CASE("A separator is a rule, and an indent moves every line") {
  Table table({{"a"}});
  table.add_row({"1"});
  table.add_separator();
  table.add_row({"22"});
  CHECK(table.text(2) == "   a\n  --\n   1\n  --\n  22\n");
}

TEST_CASE("A table without rows is empty and still has a head") {
  const Table table({{"a"}, {"b"}});
  CHECK(table.empty());
  CHECK(table.text() == "a  b\n-  -\n");
}

TEST_CASE("A row with the wrong number of cells is our own fault") {
  Table table({{"a"}, {"b"}});
  CHECK_THROWS_AS(table.add_row({"1"}), InternalError);
}

}  // namespace shardplan
