#include "tools/documents/streamed_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/errors.h"

namespace shardplan {
namespace fs = std::filesystem;

StreamedFile::StreamedFile(std::string path) : path_(std::move(path)), target_(path_) {
  std::error_code error;
  if (fs::is_directory(target_, error)) throw InputError(path_, "is a directory", "a file name");
  const bool there = fs::exists(target_, error);
  if (!there || fs::is_regular_file(target_, error)) {
    if (there) target_ = fs::canonical(target_, error);   // a link stays a link
    const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error)) throw InputError(path_, "its folder does not exist", "an existing folder");
    scratch_ = folder / fmt::format(".{}.{}.partial", target_.filename().string(), getpid());
  }
  stream_.open(scratch_.empty() ? target_ : scratch_, std::ios::binary | std::ios::trunc);
  if (!stream_) throw InputError(path_, "cannot be written", "a writable file");
}

StreamedFile::~StreamedFile() {
  if (scratch_.empty()) return;
  std::error_code error;
  fs::remove(scratch_, error);
}

void StreamedFile::finish() {
  stream_.close();
  std::error_code error;
  if (stream_ && !scratch_.empty()) fs::rename(scratch_, target_, error);
  if (!stream_ || error) throw InputError(path_, "cannot be written", "a writable file, and room for it");
}

}  // namespace shardplan
