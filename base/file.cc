#include "base/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/errors.h"

namespace shardplan {
namespace fs = std::filesystem;
namespace {

// False when any byte could not be written.
bool write_all(const fs::path& path, std::string_view content) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  stream.flush();
  return static_cast<bool>(stream);
}

}  // namespace

std::string read_file(const std::string& path, std::int64_t max_bytes) {
  std::error_code error;
  if (!fs::exists(path, error)) throw InputError(path, "no such file", "a readable file");
  if (fs::is_directory(path, error)) throw InputError(path, "is a directory", "a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(path, "cannot be read", "a readable file");
  std::string content;
  char buffer[1 << 16];
  while (stream.read(buffer, sizeof buffer) || stream.gcount() > 0) {
    content.append(buffer, static_cast<std::size_t>(stream.gcount()));
    if (static_cast<std::int64_t>(content.size()) > max_bytes) {
      throw InputError(path, "is too large", fmt::format("at most {} bytes", max_bytes));
    }
  }
  if (stream.bad()) throw InputError(path, "cannot be read to its end", "a readable file");
  return content;
}

void write_file_atomically(const std::string& path, std::string_view content) {
  std::error_code error;
  fs::path target(path);
  if (fs::is_directory(target, error)) throw InputError(path, "is a directory", "a file name");
  if (fs::exists(target, error) && !fs::is_regular_file(target, error)) {  // /dev/stdout, a pipe: never replaced
    if (!write_all(target, content)) throw InputError(path, "cannot be written", "a writable file");
    return;
  }
  if (fs::exists(target, error)) target = fs::canonical(target, error);  // a link stays a link
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) throw InputError(path, "its folder does not exist", "an existing folder");
  const fs::path scratch = folder / fmt::format(".{}.{}.partial", target.filename().string(), getpid());
  if (!write_all(scratch, content)) {
    fs::remove(scratch, error);
    throw InputError(path, "cannot be written", "a writable folder with room");
  }
  fs::rename(scratch, target, error);
  if (error) {
    fs::remove(scratch, error);
    throw InputError(path, "cannot be written", "a writable file");
  }
}

}  // namespace shardplan
