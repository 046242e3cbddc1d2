// Measured tables as they are published: CSV with a .meta.json beside, one row per configuration, and either one column per
// value of a swept variable ("m=64", blank: not measured) or a column of times. Times become microseconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardplan {

struct Measurement {
  std::size_t row = 0;        // index into MeasuredTable::rows
  double swept = 0;           // value of the swept variable; 0 in long tables
  double microseconds = 0;
  int line = 0;               // in the file
};

struct MeasuredTable {
  std::string path;
  std::string system;         // "h200_sxm"
  std::string family;         // "gemm", "attention", "moe", "comm", "mla"
  std::string backend;        // "vllm", "trtllm", "sglang", "nccl"
  std::string version;
  std::string origin;         // "aiconfigurator tables (commit 095f58a, Apache-2.0)"; "measured here" where the meta names no source
  std::string table;          // "gemm_perf", "context_attention_perf", ...
  std::map<std::string, std::string> constants;      // columns that are the same in every row
  std::map<std::string, std::map<std::string, std::string>> codes;   // column -> code -> value
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> lines;                  // of each row, in the file
  std::vector<Measurement> cells;
  std::string swept;                       // name of the swept variable: "m", "message_size"

  // The cell under `column`, decoded; a constant column's value; InputError naming file and line when there is none.
  [[nodiscard]] std::string text(std::size_t row, const std::string& column) const;
  [[nodiscard]] std::string text_or(std::size_t row, const std::string& column, const std::string& fallback) const;
  [[nodiscard]] double number(std::size_t row, const std::string& column) const;
};

// InputError naming file, line and column for anything malformed; the table is refused whole.
[[nodiscard]] MeasuredTable read_measured_table(const std::string& path);

}  // namespace shardplan
