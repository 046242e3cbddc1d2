#include "sim/workloads/line_reader.h"

#include <filesystem>
#include <utility>

#include "base/byte_order_mark.h"
#include "base/errors.h"

namespace shardplan {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

}  // namespace

LineReader::LineReader(std::string path) : path_(std::move(path)) {
  std::error_code error;
  if (std::filesystem::is_directory(path_, error)) throw InputError(path_, "is a folder", "a trace file");
  file_.open(path_, std::ios::binary);
  if (!file_) throw InputError(path_, "cannot be read", "a trace file");
}

// Characters one by one: a hostile line must not fill the memory before its length is seen.
bool LineReader::read_line() {
  line_.clear();
  std::streambuf& buffer = *file_.rdbuf();
  int c = buffer.sbumpc();
  if (c == std::char_traits<char>::eof()) return false;
  ++number_;
  for (; c != std::char_traits<char>::eof() && c != '\n'; c = buffer.sbumpc()) {
    if (c == 0) throw InputError(where(), "holds a zero byte", "text");
    line_.push_back(static_cast<char>(c));
    if (line_.size() > kMaxLineBytes) throw InputError(where(), "is longer than 16 MiB", "one request per line");
  }
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  if (number_ == 1) line_.erase(0, line_.size() - without_byte_order_mark(line_).size());
  return true;
}

bool LineReader::next() {
  while (read_line()) {
    if (line_.find_first_not_of(" \t") != std::string::npos) return true;
  }
  return false;
}

std::string LineReader::where() const { return path_ + ":" + std::to_string(number_); }

std::string LineReader::where(std::string_view part) const {
  return where() + ":" + std::to_string(part.data() - line_.data() + 1);
}

}  // namespace shardplan
