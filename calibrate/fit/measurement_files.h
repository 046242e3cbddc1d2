// The other files that measurements come in: output of nccl-tests, and records of one JSON object per line.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/measured_table.h"

namespace shardplan {

// Text that all_reduce_perf and its siblings print: out-of-place times. The collective is read from "Collective test starting"
// or the file's name, ranks from the "# Rank" lines or nGpus. InputError naming file and line.
[[nodiscard]] MeasuredTable read_nccl_tests(const std::string& path);

// One object per line: {"kind": "gemm", "shape": {"m": 64, "n": 4096, "k": 4096}, "format": "bf16", "microseconds": 12.3, "device": "..."};
// kinds: gemm, attention_prefill, attention_decode, grouped_gemm, sampling, all_reduce, all_gather, reduce_scatter, all_to_all.
// One table per kind. Lines of calibrate run are records, too; a measurement of several rounds counts once, as its fastest.
// InputError naming file, line and field.
[[nodiscard]] std::vector<MeasuredTable> read_record_table(const std::string& path);

// By the file's name: .csv (with .meta.json beside), .jsonl, anything else is nccl-tests output. A folder: all of its .csv.
[[nodiscard]] std::vector<MeasuredTable> read_measurements(const std::string& path);

}  // namespace shardplan
