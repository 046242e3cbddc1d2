// Files: bounded reading, and writing that never leaves half a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardplan {

// The whole file, or InputError (missing, a directory, unreadable, larger than max_bytes).
[[nodiscard]] std::string read_file(const std::string& path, std::int64_t max_bytes);

// Writes beside `path` and renames, so that an interrupted run leaves the old file or the new
// one. A link keeps pointing at its file; a device or a pipe (/dev/stdout) is written straight.
// InputError when the folder is missing or not writable.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace shardplan
