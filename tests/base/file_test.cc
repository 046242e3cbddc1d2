// Files: bounded reading, and writing that leaves the old file or the new one.
#include "base/file.h"

#include <filesystem>

#include "tests/base/message_of.h"
#include "tests/base/scratch_folder.h"
#include "tests/catch.h"

namespace shardplan {
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLimit = 1 << 20;

std::string write_refusal(const std::string& path) {
  return message_of([&] { write_file_atomically(path, "x"); });
}

}  // namespace

TEST_CASE("What is written is read back, byte for byte") {
  const ScratchFolder scratch;
  const std::string content("a\0b\r\n\xff", 6);
  write_file_atomically(scratch.path("f"), content);
  CHECK(read_file(scratch.path("f"), kLimit) == content);
  write_file_atomically(scratch.path("f"), "");
  CHECK(read_file(scratch.path("f"), kLimit).empty());
  CHECK(scratch.entries() == 1);  // no scratch file stays behind
}

TEST_CASE("A file above the limit is refused, one at the limit is read") {
  const ScratchFolder scratch;
  write_file_atomically(scratch.path("f"), std::string(100, 'x'));
  CHECK(read_file(scratch.path("f"), 100).size() == 100);
  CHECK_THAT(message_of([&] { (void)read_file(scratch.path("f"), 99); }), contains_text("is too large; expected at most 99"));
  CHECK_THAT(message_of([] { (void)read_file("/dev/zero", kLimit); }), contains_text("is too large"));
}

TEST_CASE("A file that fails halfway is refused, not cut short") {
  if (!fs::exists("/proc/self/mem")) return;  // its first page is never mapped: reading it fails
  CHECK_THAT(message_of([] { (void)read_file("/proc/self/mem", kLimit); }), contains_text("cannot be read"));
}

TEST_CASE("A target that cannot be written is refused by name and leaves nothing behind") {
  const ScratchFolder scratch;
  CHECK_THAT(write_refusal(scratch.path("none/f")), contains_text("none/f: its folder does not exist"));
  fs::create_directory(scratch.path("folder"));
  CHECK_THAT(write_refusal(scratch.path("folder")), contains_text("is a directory; expected a file name"));
  CHECK_THAT(write_refusal(scratch.path(std::string(300, 'n'))), contains_text("cannot be written"));
  CHECK_THAT(write_refusal("/proc/shardplan-none"), contains_text("cannot be written"));
  CHECK_FALSE(write_refusal("").empty());
  CHECK(scratch.entries() == 1);
}

TEST_CASE("A device is written to, never replaced by a file") {
  write_file_atomically("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));
  if (fs::exists("/dev/full")) CHECK_THAT(write_refusal("/dev/full"), contains_text("cannot be written"));
  CHECK((!fs::exists("/dev/full") || fs::is_character_file("/dev/full")));
}

TEST_CASE("Writing through a link changes the file and keeps the link") {
  const ScratchFolder scratch;
  write_file_atomically(scratch.path("file"), "old");
  fs::create_symlink(scratch.path("file"), scratch.path("link"));
  write_file_atomically(scratch.path("link"), "new");
  CHECK(fs::is_symlink(scratch.path("link")));
  CHECK(read_file(scratch.path("file"), kLimit) == "new");
}

}  // namespace shardplan
