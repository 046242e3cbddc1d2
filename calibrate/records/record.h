// Measured kernels and collectives: a file of one JSON object per line, appended as results come.
//
// The first object is {"kind": "header", "schema": "shardplan.records/1", "backend", "device", "libraries": {name: version},
// "program": {"name", "version"}, "cores" ...}. Every other one is a measurement: "kind" (a kernel family as profiles name it: "gemm",
// "attention_decode", ...; or a collective: "all_reduce", ...), "format", "op" (of small operations: "norm"), the shape's fields ("m", "n", "k", "batch"; "batch",
// "tokens", "context", "heads", "kv_heads", "qk_dim", "v_dim", "window", "pairs"; "tokens", "rows", "experts", "per_token", "n",
// "k"; "rows", "row_bytes"; "group", "message_bytes"), "ranks" at work at once, "flops" and "bytes" as the price counts them,
// "microseconds" (median), "spread" ((p90 - p10) / median), "samples", "device", "clock_mhz" (of the fastest core or the device meanwhile), sometimes
// "library" (of several whose kernel was measured) and "note". A file that was cut short ends in half a
// line, which is dropped; a measurement that is there is not made again. One that was made in several rounds is there as often.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardplan {

inline constexpr const char* kRecordsSchema = "shardplan.records/1";

struct RecordHeader {
  std::string backend;   // "host", "cuda"
  std::string device;
  std::int64_t cores = 0;
  double last_level_cache_bytes = 0;
  double memory_bytes = 0;
  std::string program;   // version
  std::map<std::string, std::string> libraries;
};

struct Record {
  std::string kind;
  std::string format;
  std::string op;          // of small operations what they are; otherwise empty
  std::vector<std::pair<std::string, std::int64_t>> shape;
  std::int64_t ranks = 1;
  double flops = 0;
  double bytes = 0;
  double microseconds = 0;
  double spread = 0;
  std::int64_t samples = 0;
  std::string device;
  double clock_mhz = 0;    // 0: not told
  std::string note;        // what the library chose; may be empty
  std::string library;     // whose kernel it is where several were measured; not part of the key

  [[nodiscard]] std::string key() const;   // as NodeCase::key
  [[nodiscard]] std::int64_t field(std::string_view name) const;   // 0 when absent
  [[nodiscard]] bool is_collective() const { return field("message_bytes") > 0; }
};

struct RecordFile {
  std::string path;
  RecordHeader header;
  std::vector<Record> records;
  std::int64_t complete_bytes = 0;   // up to the last whole line
  bool cut = false;                  // half a line follows
};

// Each measurement once: the fastest round of its fastest library, with a spread that is at least what that one's rounds differ by.
[[nodiscard]] std::vector<Record> best_of_rounds(const std::vector<Record>& records);

// One line, with its newline.
[[nodiscard]] std::string line_of(const RecordHeader& header);
[[nodiscard]] std::string line_of(const Record& record);
// InputError naming file and line for anything malformed but the last line; "" gives no header.
[[nodiscard]] RecordFile read_records(const std::string& path);
[[nodiscard]] std::string measurement_key(std::string_view kind, std::string_view format,
                                          const std::vector<std::pair<std::string, std::int64_t>>& shape, std::int64_t ranks);

}  // namespace shardplan
