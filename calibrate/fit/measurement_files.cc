#include "calibrate/fit/measurement_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/errors.h"
#include "base/file.h"
#include "base/input_limit.h"
#include "base/json.h"
#include "calibrate/fit/foreign_tables.h"
#include "calibrate/fit/run_records.h"

namespace shardplan {
namespace {

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string collective_in(const std::string& text) {
  for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "alltoall"}) {
    if (text.find(name) != std::string::npos) return name;
  }
  return "";
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// How a kind of record maps to a table: its family, and which fields of the shape become which columns; the last is swept.
struct RecordKind {
  const char* kind;
  const char* family;
  const char* table;
  const char* format_column;
  std::vector<std::pair<const char*, const char*>> columns;   // (field of the shape, column)
  const char* swept;
};

const std::vector<RecordKind>& record_kinds() {
  static const std::vector<std::pair<const char*, const char*>> kHeads{
      {"batch", "batch_size"}, {"heads", "num_heads"}, {"kv_heads", "num_key_value_heads"}, {"head_dim", "head_dim"}, {"window", "window_size"}};
  static const std::vector<RecordKind> kKinds{
      {"gemm", "gemm", "gemm", "gemm_dtype", {{"n", "n"}, {"k", "k"}}, "m"},
      {"attention_prefill", "attention", "context_attention", "kv_cache_dtype", kHeads, "tokens"},
      {"attention_decode", "attention", "generation_attention", "kv_cache_dtype", kHeads, "cached"},
      {"grouped_gemm", "moe", "moe", "moe_dtype",
       {{"hidden", "hidden_size"}, {"intermediate", "inter_size"}, {"per_token", "topk"}, {"experts", "num_experts"}, {"moe_tp", "moe_tp_size"},
        {"ep", "moe_ep_size"}, {"rows", "rows"}, {"active", "active"}, {"tiles_16", "tiles_16"}, {"tiles_32", "tiles_32"}, {"tiles_64", "tiles_64"}, {"tiles_128", "tiles_128"}},
       "tokens"},
      {"sampling", "sampling", "sampling", "dtype", {{"row_bytes", "row_bytes"}}, "rows"},
      {"all_reduce", "comm", "nccl_perf", "nccl_dtype", {{"ranks", "num_gpus"}}, "elements"},
      {"all_gather", "comm", "nccl_perf", "nccl_dtype", {{"ranks", "num_gpus"}}, "elements"},
      {"reduce_scatter", "comm", "nccl_perf", "nccl_dtype", {{"ranks", "num_gpus"}}, "elements"},
      {"all_to_all", "comm", "nccl_perf", "nccl_dtype", {{"ranks", "num_gpus"}}, "elements"}};
  return kKinds;
}

MeasuredTable empty_table(const std::string& path, const RecordKind& kind) {
  MeasuredTable table;
  table.path = path;
  table.family = kind.family;
  table.backend = "records";
  table.version = "1";
  table.table = kind.table;
  table.origin = "measured here";
  for (const auto& [field, column] : kind.columns) table.columns.emplace_back(column);
  table.columns.emplace_back(kind.format_column);
  table.columns.emplace_back("op_name");
  table.columns.emplace_back("kernel_source");
  table.swept = kind.swept;
  table.constants["distribution"] = "balanced";
  return table;
}

std::string format_in_tables(const std::string& format) { return format == "bf16" ? "bfloat16" : format; }

void add_record(const Json& record, const std::string& where, int line, const RecordKind& kind, MeasuredTable& table) {
  JsonObject object(record, where);
  JsonObject shape = object.object("shape");
  std::vector<std::string> row;
  for (const auto& [field, column] : kind.columns) {
    const std::string_view name = field;
    const bool optional = name == "window" || name == "rows" || name == "active" || name.starts_with("tiles_");
    row.push_back(std::to_string(optional ? shape.integer_or(field, 0, 0, 1LL << 40) : shape.integer(field, 0, 1LL << 40)));
  }
  row.push_back(format_in_tables(object.string("format")));
  row.emplace_back(kind.kind);
  row.push_back(object.string_or("kernel_source", ""));
  const double swept = shape.number(kind.swept, 1, 1e15);
  const double us = object.number("microseconds", 1e-3, 1e12);
  table.cells.push_back({table.rows.size(), swept, us, line});
  table.rows.push_back(std::move(row));
  table.lines.push_back(line);
}

// What a line of calibrate run measures, whatever it found.
std::string round_key(Json line) {
  for (const char* found : {"microseconds", "spread", "samples", "clock_mhz", "note", "library"}) line.erase(found);
  return line.dump();
}

// The last cell is another round of an earlier one: the faster stays, as best_of_rounds has it.
void merge_round(MeasuredTable& table, std::size_t earlier) {
  Measurement& kept = table.cells[earlier];
  kept.microseconds = std::min(kept.microseconds, table.cells.back().microseconds);
  table.cells.pop_back();
  table.rows.pop_back();
  table.lines.pop_back();
}

}  // namespace

MeasuredTable read_nccl_tests(const std::string& path) {
  MeasuredTable table;
  table.path = path;
  table.family = "comm";
  table.backend = "nccl-tests";
  table.version = "text";
  table.table = "nccl_perf";
  table.origin = "measured here";
  table.columns = {"op_name", "nccl_dtype", "num_gpus"};
  table.swept = "message_size";
  std::string name = collective_in(std::filesystem::path(path).filename().string());
  int ranks = 0;
  int gpus = 0;
  std::istringstream text(read_file(path, kMostInputBytes));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.find("Collective test starting") != std::string::npos) name = collective_in(line);
    const std::vector<std::string> words = words_of(line);
    if (words.size() > 1 && words[0] == "#") {
      if (words[1] == "Rank") ++ranks;
      const auto at = std::find(words.begin(), words.end(), "nGpus");
      double value = 0;
      if (at != words.end() && at + 1 != words.end() && parse_number(*(at + 1), value)) gpus = static_cast<int>(value);
      continue;
    }
    double bytes = 0;
    double elements = 0;
    double us = 0;
    if (words.size() < 8 || !parse_number(words[0], bytes)) continue;
    const std::string where = path + ":" + std::to_string(number);
    if (!parse_number(words[1], elements) || !parse_number(words[5], us)) throw InputError(where, "column time is not a number: \"" + words[5] + "\"", "a row of nccl-tests: size count type redop root time algbw busbw");
    if (name.empty()) throw InputError(where, "the collective is not named", "\"Collective test starting: all_reduce_perf\", or the name in the file's name");
    if (ranks == 0 && gpus == 0) throw InputError(where, "the number of ranks is not known", "\"# Rank\" lines, or \"nGpus N\"");
    if (bytes <= 0 || us <= 0) continue;
    table.cells.push_back({table.rows.size(), bytes, us, number});
    table.rows.push_back({name, "int8", std::to_string(ranks > 0 ? ranks : gpus)});   // sizes are bytes
    table.lines.push_back(number);
  }
  if (table.rows.empty()) throw InputError(path, "has no rows of measurements", "nccl-tests output, a .csv with its .meta.json, or a .jsonl");
  return table;
}

std::vector<MeasuredTable> read_record_table(const std::string& path) {
  std::map<std::string, MeasuredTable> tables;
  std::map<std::string, std::size_t> rounds;   // cell of what a line of calibrate run measures
  std::istringstream text(read_file(path, kMostInputBytes));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.empty()) continue;
    const std::string where = path + ":" + std::to_string(number);
    Json record = parse_json(line, where);
    std::string measured;
    if (is_run_line(record)) {
      measured = round_key(record);
      std::optional<Json> of_run = table_record(record);
      if (!of_run) continue;
      record = std::move(*of_run);
    }
    JsonObject object(record, where);
    const std::string name = object.string("kind");
    const auto& kinds = record_kinds();
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const RecordKind& k) { return name == k.kind; });
    if (kind == kinds.end()) throw InputError(object.where("kind"), "\"" + name + "\" is not known", "gemm, attention_prefill, attention_decode, grouped_gemm, all_reduce, ...");
    const std::string group = std::string(kind->family) + kind->table;
    const auto [entry, fresh] = tables.try_emplace(group);
    if (fresh) entry->second = empty_table(path, *kind);
    MeasuredTable& table = entry->second;
    add_record(record, where, number, *kind, table);
    if (measured.empty()) continue;
    const auto [place, first] = rounds.try_emplace(std::move(measured), table.cells.size() - 1);
    if (!first) merge_round(table, place->second);
  }
  if (tables.empty()) throw InputError(path, "has no records", "one JSON object per line");
  std::vector<MeasuredTable> out;
  for (auto& [group, table] : tables) out.push_back(std::move(table));
  return out;
}

std::vector<MeasuredTable> read_measurements(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) throw InputError(path, "holds no .csv", "a folder of measured tables");
    std::vector<MeasuredTable> out;
    for (const std::string& file : files) out.push_back(is_foreign_table(file) ? read_foreign_table(file) : read_measured_table(file));
    return out;
  }
  if (path.ends_with(".csv")) return {is_foreign_table(path) ? read_foreign_table(path) : read_measured_table(path)};
  if (path.ends_with(".jsonl")) return read_record_table(path);
  return {read_nccl_tests(path)};
}

}  // namespace shardplan
