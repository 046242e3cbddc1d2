// A file of measurements, and what kind it holds, told from its first lines.
#pragma once

#include <string>

#include "planner/measured/csv_table.h"

namespace shardplan {

enum class MeasuredKind { kServing, kKernels, kPublished, kStaticBatches };

struct MeasuredFile {
  std::string path;
  MeasuredKind kind = MeasuredKind::kKernels;
  std::string text;  // of a table that is no kernels'

  [[nodiscard]] CsvTable table() const { return {path, text}; }
};

// A folder holds kernel tables. InputError naming the kinds that are known for anything else.
[[nodiscard]] MeasuredFile read_measured(const std::string& path);

}  // namespace shardplan
