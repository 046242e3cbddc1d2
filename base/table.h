// Plain-text tables that a person enjoys reading: columns padded, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace shardplan {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };

  explicit Table(std::vector<Column> columns);
  void add_row(std::vector<std::string> cells);  // as many cells as columns
  void add_separator();
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string text(int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a separator
};

}  // namespace shardplan
