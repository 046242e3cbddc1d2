#include "base/table.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {
namespace {

// Width on a terminal: code points, not bytes.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  ensure(cells.size() == columns_.size(), "table row has the wrong number of cells");
  rows_.push_back(std::move(cells));
}

void Table::add_separator() { rows_.emplace_back(); }

std::string Table::text(int indent) const {
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    width.push_back(display_width(columns_[c].title));
    for (const auto& row : rows_) {
      if (!row.empty()) width[c] = std::max(width[c], display_width(row[c]));
    }
  }
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string result;
  const auto line = [&](auto cell_of) {
    std::string text = margin;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string cell = cell_of(c);
      const std::string padding(width[c] - display_width(cell), ' ');
      text += (c == 0 ? "" : "  ") + (columns_[c].align == Align::kLeft ? cell + padding : padding + cell);
    }
    result += trimmed(text) + "\n";
  };
  const auto rule = [&] { line([&](std::size_t c) { return std::string(width[c], '-'); }); };
  line([&](std::size_t c) { return columns_[c].title; });
  rule();
  for (const auto& row : rows_) {
    if (row.empty()) rule();
    else line([&](std::size_t c) { return row[c]; });
  }
  return result;
}

}  // namespace shardplan
