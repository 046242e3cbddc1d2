#include "planner/measured/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/byte_order_mark.h"
#include "base/errors.h"
#include "base/suggest.h"

namespace shardplan {
namespace {

// The cells of one line; `text` is shortened by it.
std::vector<std::string> take_line(std::string_view& text, const std::string& where) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cells.back() += c;
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  if (quoted) throw InputError(where, "a quotation does not end", "a closing \"");
  text.remove_prefix(std::min(text.size(), i + 1));
  return cells;
}

}  // namespace

std::vector<std::string> csv_header(std::string_view text, const std::string& file) {
  text = without_byte_order_mark(text);
  return take_line(text, file + ": line 1");
}

CsvTable::CsvTable(std::string file, std::string_view text) : file_(std::move(file)) {
  text = without_byte_order_mark(text);
  if (text.empty()) throw InputError(file_, "is empty", "a header line and rows");
  std::int64_t line = 1;
  const auto lines_in = [](std::string_view part) { return std::count(part.begin(), part.end(), '\n'); };
  const std::string_view whole = text;
  columns_ = take_line(text, fmt::format("{}: line 1", file_));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::count(columns_.begin(), columns_.end(), columns_[i]) > 1) {
      throw InputError(fmt::format("{}: line 1, column {}", file_, columns_[i]), "stands there twice",
                       "distinct names");
    }
  }
  while (!text.empty()) {
    line = 1 + lines_in(whole.substr(0, whole.size() - text.size()));
    std::vector<std::string> cells = take_line(text, fmt::format("{}: line {}", file_, line));
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.size() != columns_.size()) {
      throw InputError(fmt::format("{}: line {}", file_, line),
                       fmt::format("has {} cells where the header has {}", cells.size(), columns_.size()),
                       "as many cells as columns");
    }
    rows_.push_back({line, std::move(cells)});
  }
}

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto at = std::find(columns_.begin(), columns_.end(), column);
  if (at == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - columns_.begin());
}

std::size_t CsvTable::require(std::string_view column) const {
  if (const auto at = find(column)) return *at;
  throw InputError(file_ + ": line 1", fmt::format("has no column '{}'", column), nearest_hint(column, columns_));
}

std::string CsvTable::text(const CsvRow& row, std::string_view column) const {
  const auto at = find(column);
  return at ? row.cells[*at] : "";
}

std::string CsvTable::where(const CsvRow& row, std::string_view column) const {
  return fmt::format("{}: line {}, column {}", file_, row.line, column);
}

std::optional<double> CsvTable::number_if(const CsvRow& row, std::string_view column, double least, double most) const {
  const std::string cell = text(row, column);
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)) {
    throw InputError(where(row, column), "'" + cell + "' is no number", "a number");
  }
  if (value < least || value > most) {
    throw InputError(where(row, column), cell + " is out of range", fmt::format("{:g} to {:g}", least, most));
  }
  return value;
}

double CsvTable::number(const CsvRow& row, std::string_view column, double least, double most) const {
  (void)require(column);
  if (const auto value = number_if(row, column, least, most)) return *value;
  throw InputError(where(row, column), "is empty", "a number");
}

}  // namespace shardplan
