#include "calibrate/fit/measured_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/file.h"
#include "base/input_limit.h"
#include "base/json.h"

namespace shardplan {
namespace {

std::string place(const std::string& path, int line, const std::string& column) {
  return path + ":" + std::to_string(line) + ": column " + column;
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> out;
  std::size_t start = 0;
  while (true) {
    const std::size_t comma = line.find(',', start);
    out.emplace_back(line.substr(start, comma == std::string_view::npos ? comma : comma - start));
    if (comma == std::string_view::npos) return out;
    start = comma + 1;
  }
}

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

void read_meta(MeasuredTable& table) {
  const std::string path = table.path + ".meta.json";
  const Json meta = read_json_file(path);
  JsonObject object(meta, path);
  table.system = object.string("system");
  table.family = object.string("family");
  table.backend = object.string("backend");
  table.version = object.string("version");
  table.table = object.string("table");
  const std::string repository = object.string_or("source_repo", "");
  table.origin = "measured here";
  if (!repository.empty()) {
    table.origin = repository.substr(repository.find_last_of('/') + 1) + " tables (commit " + object.string_or("source_commit", "unknown").substr(0, 7) +
                   ", " + object.string_or("licence", "no licence named") + ")";
  }
  if (const auto constants = object.object_if("constant_columns")) {
    for (const auto& [key, value] : meta["constant_columns"].items()) {
      table.constants[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  if (const auto codes = object.object_if("code_tables")) {
    for (const auto& [column, values] : meta["code_tables"].items()) {
      for (const auto& [code, value] : values.items()) table.codes[column][code] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
}

// Value of the swept variable of a column such as "m=64", or a negative number.
double swept_value(const std::string& column) {
  const std::size_t equals = column.find('=');
  double value = 0;
  if (equals == std::string::npos || !parse_number(std::string_view(column).substr(equals + 1), value)) return -1;
  return value;
}

void read_cells(MeasuredTable& table, std::vector<std::string>& cells, const std::vector<double>& swept, std::size_t fixed, int line) {
  for (std::size_t c = fixed; c < cells.size(); ++c) {
    if (cells[c].empty()) continue;
    double us = 0;
    if (!parse_number(cells[c], us)) throw InputError(place(table.path, line, table.columns[c]), "is not a number: \"" + cells[c] + "\"", "microseconds, or nothing");
    table.cells.push_back({table.rows.size(), swept[c], us, line});
  }
  cells.resize(fixed);
}

// Tables with a column of times: one cell per row; the swept value is the message where there is one.
void add_long_cells(MeasuredTable& table) {
  const auto has = [&](const char* name) { return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end(); };
  if (!table.cells.empty()) return;
  for (const char* kind : {"avg_t_us", "transmit_us"}) {   // DeepEP: a dispatch and a combine in each row
    const std::string dispatch = std::string("dispatch_") + kind;
    if (!has(dispatch.c_str())) continue;
    table.swept = "num_token";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      for (const std::string& column : {dispatch, std::string("combine_") + kind}) {
        const std::string notify = column.substr(0, column.find('_')) + "_notify_us";   // counts of tokens go ahead of them
        const double ahead = has(notify.c_str()) ? table.number(row, notify) : 0;
        table.cells.push_back({row, table.number(row, "num_token"), ahead + table.number(row, column), table.lines[row]});
      }
    }
  }
  if (!has("latency_us")) return;
  table.swept = "message_size";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    table.cells.push_back({row, has("message_size") ? table.number(row, "message_size") : 0, table.number(row, "latency_us"), table.lines[row]});
  }
}

}  // namespace

std::string MeasuredTable::text_or(std::size_t row, const std::string& column, const std::string& fallback) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) {
    const auto constant = constants.find(column);
    return constant == constants.end() ? fallback : constant->second;
  }
  const std::string& cell = rows[row][static_cast<std::size_t>(found - columns.begin())];
  const auto code_table = codes.find(column);
  if (code_table == codes.end()) return cell;
  const auto code = code_table->second.find(cell);
  return code == code_table->second.end() ? cell : code->second;
}

std::string MeasuredTable::text(std::size_t row, const std::string& column) const {
  std::string value = text_or(row, column, "");
  if (value.empty()) throw InputError(place(path, lines[row], column), "is missing", "a value, or a constant column in the .meta.json");
  return value;
}

double MeasuredTable::number(std::size_t row, const std::string& column) const {
  const std::string value = text(row, column);
  double number = 0;
  if (!parse_number(value, number)) throw InputError(place(path, lines[row], column), "is not a number: \"" + value + "\"", "a number");
  return number;
}

MeasuredTable read_measured_table(const std::string& path) {
  MeasuredTable table;
  table.path = path;
  const std::string text = read_file(path, kMostInputBytes);
  read_meta(table);
  std::size_t start = 0;
  std::vector<double> swept;
  std::size_t fixed = 0;
  for (int line = 1; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view row(text.data() + start, end - start);
    start = end + 1;
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    if (row.empty()) continue;
    std::vector<std::string> cells = split(row);
    if (table.columns.empty()) {
      table.columns = cells;
      for (const std::string& column : cells) swept.push_back(swept_value(column));
      while (fixed < cells.size() && swept[fixed] < 0) ++fixed;
      if (fixed < cells.size()) table.swept = cells[fixed].substr(0, cells[fixed].find('='));
      for (std::size_t c = fixed; c < cells.size(); ++c) {
        if (swept[c] < 0) throw InputError(place(path, line, cells[c]), "stands among the swept columns", "columns such as m=64 last");
      }
      continue;
    }
    if (cells.size() != table.columns.size()) {
      throw InputError(path + ":" + std::to_string(line), "has " + std::to_string(cells.size()) + " columns", std::to_string(table.columns.size()) + ", as the first line");
    }
    read_cells(table, cells, swept, fixed, line);
    table.rows.push_back(std::move(cells));
    table.lines.push_back(line);
  }
  if (table.rows.empty()) throw InputError(path, "has no rows", "a table of measurements");
  table.columns.resize(fixed);
  add_long_cells(table);
  return table;
}

}  // namespace shardplan
