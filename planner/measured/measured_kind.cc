#include "planner/measured/measured_kind.h"

#include <filesystem>
#include <string_view>

#include "base/errors.h"
#include "base/file.h"
#include "calibrate/fit/foreign_tables.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostBytes = 256LL << 20;

constexpr const char* kKnown =
    "serving points (columns model, hardware, engine, isl, osl, ..., tpot_ms, ttft_ms), published figures "
    "(measured_metric, value, "
    "...), a kernel table (.csv with its .meta.json beside), a folder of them, records (.jsonl) or nccl-tests output";

// "tp" is a column of "id,model,tp,isl".
bool has_column(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t comma = std::min(header.find(','), header.size());
    std::string_view cell = header.substr(0, comma);
    if (cell.size() > 1 && cell.front() == '"') cell = cell.substr(1, cell.size() - 2);
    if (cell == name) return true;
    header.remove_prefix(std::min(header.size(), comma + 1));
  }
  return false;
}

bool is_nccl_tests(std::string_view text) {
  for (const char* sign : {"out-of-place", "nThread", "Collective test starting", "# nccl-tests"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

MeasuredKind measured_kind(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return MeasuredKind::kKernels;
  const std::string text = read_file(path, kMostBytes);
  std::string_view header = std::string_view(text).substr(0, text.find('\n'));
  if (!header.empty() && header.back() == '\r') header.remove_suffix(1);
  if (header.starts_with("{") && header.find("\"kind\"") != std::string_view::npos) return MeasuredKind::kKernels;
  if (fs::exists(path + ".meta.json", ignored) || is_foreign_table(path)) return MeasuredKind::kKernels;
  if (has_column(header, "prompt_size") && has_column(header, "batch_size")) return MeasuredKind::kStaticBatches;
  if (has_column(header, "measured_metric")) return MeasuredKind::kPublished;
  for (const char* own : {"tpot_ms", "ttft_ms", "isl", "osl"}) {
    if (has_column(header, own)) return MeasuredKind::kServing;
  }
  if (is_nccl_tests(text)) return MeasuredKind::kKernels;
  throw InputError(path + ": line 1", "is not the head of measurements that are known", kKnown);
}

}  // namespace shardplan
