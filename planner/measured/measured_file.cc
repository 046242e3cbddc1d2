#include "planner/measured/measured_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "base/file.h"
#include "base/input_limit.h"
#include "calibrate/fit/foreign_tables.h"

namespace shardplan {
namespace {

constexpr const char* kKnown =
    "serving points (columns model, hardware, engine, isl, osl, ..., tpot_ms, ttft_ms), published figures "
    "(measured_metric, value, "
    "...), a kernel table (.csv with its .meta.json beside), a folder of them, records (.jsonl) or nccl-tests output";

bool is_nccl_tests(std::string_view text) {
  for (const char* sign : {"out-of-place", "nThread", "Collective test starting", "# nccl-tests"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

bool is_record(std::string_view line) {
  return line.starts_with("{") && line.find("\"kind\"") != std::string_view::npos;
}

// Of a table by the names of its columns.
std::optional<MeasuredKind> kind_of(const std::vector<std::string>& columns) {
  const auto has = [&](const char* name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  if (has("prompt_size") && has("batch_size")) return MeasuredKind::kStaticBatches;
  if (has("measured_metric")) return MeasuredKind::kPublished;
  if (has("tpot_ms") || has("ttft_ms") || has("isl") || has("osl")) return MeasuredKind::kServing;
  return std::nullopt;
}

}  // namespace

MeasuredFile read_measured(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  MeasuredFile out{path};
  if (fs::is_directory(path, ignored) || fs::exists(path + ".meta.json", ignored)) return out;
  std::string text = read_file(path, kMostInputBytes);
  if (text.empty()) throw InputError(path, "is empty", kKnown);
  if (is_record(std::string_view(text).substr(0, text.find('\n'))) || is_foreign_table(path)) return out;
  if (const auto kind = kind_of(csv_header(text, path))) {
    out.kind = *kind;
    out.text = std::move(text);
    return out;
  }
  if (is_nccl_tests(text)) return out;
  throw InputError(path + ": line 1", "is not the head of measurements that are known", kKnown);
}

}  // namespace shardplan
