#include "calibrate/fit/foreign_tables.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/errors.h"
#include "base/file.h"
#include "base/json.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxTableBytes = 64LL << 20;
constexpr const char* kGemm = "m,k,n,latency_us,mfu";
constexpr const char* kDecode = "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu";
constexpr const char* kPrefill = "dtype,seq_len,latency_us,mfu";

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) out.push_back(part);
  return out;
}

std::string without_return(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

double number(const std::string& cell, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || value <= 0) throw InputError(where, "is not a number: \"" + cell + "\"", "a positive number");
  return value;
}

// Parts of "mha_decode_h20_32x8x128": machine and query heads, KV heads, head size.
struct FileName {
  std::string system;
  std::vector<std::string> heads;
};

FileName file_name(const std::string& path) {
  FileName out;
  for (const std::string& part : split(std::filesystem::path(path).stem().string(), '_')) {
    if (part == "h20") out.system = "h20-96gb";
    if (part == "h800") out.system = "h800-sxm";
    if (split(part, 'x').size() == 3) out.heads = split(part, 'x');
  }
  return out;
}

std::string format_of(const std::string& dtype) { return dtype == "bf16" ? "bfloat16" : dtype; }

void read_origin(MeasuredTable& table) {
  const std::string path = std::filesystem::path(table.path).replace_extension(".meta.json").string();
  table.version = "unknown";
  table.origin = "InferSim tables";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const Json meta = read_json_file(path);
  JsonObject object(meta, path);
  table.version = object.string_or("commit", "unknown").substr(0, 7);
  table.origin += " (commit " + table.version + ", " + object.string_or("licence", "no licence named") + ")";
}

// One line of the table; `columns` are those of the file.
void add_line(MeasuredTable& table, const std::vector<std::string>& columns, const std::vector<std::string>& cells, const FileName& name, int line) {
  const auto where = [&](const std::string& column) { return table.path + ":" + std::to_string(line) + ": column " + column; };
  const auto text = [&](const char* column) { return cells[static_cast<std::size_t>(std::find(columns.begin(), columns.end(), column) - columns.begin())]; };
  const auto value = [&](const char* column) { return number(text(column), where(column)); };
  const double us = value("latency_us");
  if (table.family == "gemm") {
    table.cells.push_back({table.rows.size(), value("m"), us, line});
    table.rows.push_back({text("n"), text("k")});
    static_cast<void>(value("n") * value("k"));
  } else {
    const bool decode = table.table.starts_with("generation");
    // Cached positions: the new token's own is not among them.
    table.cells.push_back({table.rows.size(), decode ? std::max(0.0, value("kv_len") - 1) : value("seq_len"), us, line});
    table.rows.push_back({decode ? text("batch_size") : "1", name.heads[0], name.heads[1], name.heads[2], format_of(text(decode ? "kv_dtype" : "dtype"))});
    if (decode) static_cast<void>(value("batch_size"));
  }
  table.lines.push_back(line);
}

}  // namespace

bool is_foreign_table(const std::string& path) {
  std::ifstream stream(path);
  std::string head;
  std::getline(stream, head);
  head = without_return(head);
  return head == kGemm || ((head == kDecode || head == kPrefill) && std::filesystem::path(path).filename().string().starts_with("mha_"));
}

MeasuredTable read_foreign_table(const std::string& path) {
  MeasuredTable table;
  table.path = path;
  const std::vector<std::string> lines = split(read_file(path, kMaxTableBytes), '\n');
  const std::string head = without_return(lines.empty() ? "" : lines.front());
  const std::vector<std::string> columns = split(head, ',');
  const FileName name = file_name(path);
  table.system = name.system;
  table.family = head == kGemm ? "gemm" : "attention";
  table.table = head == kGemm ? "gemm" : head == kDecode ? "generation_attention" : "context_attention";
  table.backend = head == kGemm ? "deepgemm" : "flash";
  table.swept = head == kGemm ? "m" : head == kDecode ? "step" : "isl";
  if (head == kGemm) {
    table.columns = {"n", "k"};
    table.constants["gemm_dtype"] = "fp8_block";
  } else {
    table.columns = {"batch_size", "num_heads", "num_key_value_heads", "head_dim", "kv_cache_dtype"};
    if (name.heads.size() != 3) throw InputError(path, "does not say its heads", "a name such as mha_decode_h20_32x8x128.csv");
  }
  read_origin(table);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string line = without_return(lines[i]);
    if (line.empty()) continue;
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() != columns.size()) {
      throw InputError(path + ":" + std::to_string(i + 1), "has " + std::to_string(cells.size()) + " columns", std::to_string(columns.size()) + ", as the first line");
    }
    add_line(table, columns, cells, name, static_cast<int>(i + 1));
  }
  if (table.rows.empty()) throw InputError(path, "has no rows", "a table of measurements");
  return table;
}

std::vector<MeasuredTable> merged_alike(std::vector<MeasuredTable> tables) {
  std::vector<MeasuredTable> out;
  for (MeasuredTable& table : tables) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const MeasuredTable& t) {
      return t.system == table.system && t.family == table.family && t.table == table.table && t.backend == table.backend && t.version == table.version &&
             t.columns == table.columns && t.constants == table.constants && t.codes == table.codes;
    });
    if (same == out.end()) {
      out.push_back(std::move(table));
      continue;
    }
    for (Measurement cell : table.cells) {
      cell.row += same->rows.size();
      same->cells.push_back(cell);
    }
    same->rows.insert(same->rows.end(), table.rows.begin(), table.rows.end());
    same->lines.insert(same->lines.end(), table.lines.begin(), table.lines.end());
  }
  return out;
}

}  // namespace shardplan
