#include "sim/workloads/csv_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/errors.h"

namespace shardplan {

CsvRows::CsvRows(std::string path) : reader_(std::move(path)) {
  if (!reader_.next()) throw InputError(reader_.path(), "is empty", "a header and one request per line");
  split();
  for (const std::string_view field : fields_) header_.emplace_back(field);
}

void CsvRows::split() {
  fields_.clear();
  const std::string_view line = reader_.line();
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t comma = std::min(line.find(',', from), line.size());
    std::string_view field = line.substr(from, comma - from);
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
    fields_.push_back(field);
    from = comma + 1;
  }
}

std::int64_t CsvRows::column_if(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  return found == header_.end() ? -1 : found - header_.begin();
}

std::size_t CsvRows::column(std::string_view name) const {
  const std::int64_t place = column_if(name);
  if (place < 0) {
    throw InputError(reader_.path(), fmt::format("has no column {}", name), fmt::format("it beside {}", fmt::join(header_, ", ")));
  }
  return static_cast<std::size_t>(place);
}

bool CsvRows::next() {
  if (!reader_.next()) return false;
  split();
  if (fields_.size() != header_.size()) {
    throw InputError(reader_.where(fields_.back()), fmt::format("the row has {} fields", fields_.size()),
                     fmt::format("{} as in the header", header_.size()));
  }
  return true;
}

std::int64_t CsvRows::integer(std::size_t column, std::int64_t min, std::int64_t max) const {
  const std::string_view field = fields_[column];
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error == std::errc() && end == field.data() + field.size() && value >= min && value <= max) return value;
  throw InputError(reader_.where(field), fmt::format("{} is '{}'", header_[column], field), fmt::format("a whole number from {} to {}", min, max));
}

double CsvRows::number(std::size_t column, double min, double max) const {
  const std::string_view field = fields_[column];
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error == std::errc() && end == field.data() + field.size() && value >= min && value <= max) return value;
  throw InputError(reader_.where(field), fmt::format("{} is '{}'", header_[column], field), fmt::format("a number from {:g} to {:g}", min, max));
}

}  // namespace shardplan
