// Any bytes, read as a table of measured serving points, are rows that can be asked about, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/errors.h"
#include "planner/measured/disaggregated_rows.h"
#include "planner/measured/serving_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardplan;
  try {
    const CsvTable table("fuzz.csv", {reinterpret_cast<const char*>(data), size});
    if (is_disaggregated(table)) {
      (void)read_disaggregated_rows(table);
      return 0;
    }
    for (const ServingRow& row : read_serving_rows(table)) (void)question_of(row, table);
  } catch (const InputError&) {  // the expected refusal
  }
  return 0;
}
