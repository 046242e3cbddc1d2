#include "calibrate/records/record_writer.h"

#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/errors.h"

namespace shardplan {

RecordWriter::RecordWriter(std::string path, const RecordHeader& header) : path_(std::move(path)) {
  file_.reset(std::fopen(path_.c_str(), "ab"));
  if (file_ == nullptr) throw InputError(path_, std::string("cannot be opened: ") + std::strerror(errno), "a file that can be written");
  std::error_code error;
  bool begin = true;
  if (std::filesystem::is_regular_file(path_, error)) {
    if (flock(fileno(file_.get()), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw InputError(path_, "is being written by another calibrate run", "its end, or another file");
    }
    const RecordFile before = read_records(path_);
    begin = before.complete_bytes == 0;
    if (!begin && (before.header.device != header.device || before.header.backend != header.backend)) {
      throw InputError(path_, "holds records of " + before.header.backend + " on " + before.header.device,
                       "another file for " + header.backend + " on " + header.device);
    }
    if (!begin) check_libraries(before.header, header);
    for (const Record& record : before.records) ++keys_[record.key()][record.library];
    if (before.cut) std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(before.complete_bytes), error);
  }
  if (begin) write(line_of(header));
}

void RecordWriter::check_libraries(const RecordHeader& before, const RecordHeader& now) const {
  for (const auto& [name, version] : now.libraries) {
    const auto found = before.libraries.find(name);
    if (found == before.libraries.end())  // its kernels would be missing of the shapes that are there
      throw InputError(path_, "holds records made without " + name + ", which is here", "another file");
    if (found->second == version) continue;
    throw InputError(path_, "holds records made with " + name + " " + found->second + ", and here is " + version, "another file");
  }
}

void RecordWriter::append(const std::vector<Record>& records) {
  std::string lines;
  for (const Record& record : records) lines += line_of(record);
  write(lines);
  for (const Record& record : records) ++keys_[record.key()][record.library];
}

void RecordWriter::write(const std::string& line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0;
  if (written) return;
  throw EnvironmentError(path_ + ": cannot write: " + std::strerror(errno) + "; " + std::to_string(keys_.size()) +
                         " shapes are kept, the same command goes on from there");
}

}  // namespace shardplan
