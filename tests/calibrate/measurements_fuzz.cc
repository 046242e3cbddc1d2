// Any bytes, read as every kind of measured file, are measurements or an InputError: nccl-tests output, records of one
// object a line (of the harness, and of others), and a table whose .meta.json is what follows the first zero byte.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "calibrate/fit/measurement_files.h"
#include "calibrate/records/record.h"
#include "tests/base/scratch_folder.h"
#include "tests/fuzz/memory_file.h"

namespace {

template <class Read>
void read_as(Read read) {
  try {
    (void)read();
  } catch (const shardplan::InputError&) {  // the expected refusal
  }
}

void write(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file) != text.size()) std::abort();
  std::fclose(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardplan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const MemoryFile file(text);
  read_as([&] { return read_nccl_tests(file.path()); });
  read_as([&] { return read_record_table(file.path()); });
  read_as([&] { return read_records(file.path()); });
  static const ScratchFolder folder;
  const std::size_t zero = text.find('\0');
  if (zero == std::string_view::npos) return 0;
  write(folder.path("t.csv"), text.substr(0, zero));
  write(folder.path("t.csv.meta.json"), text.substr(zero + 1));
  read_as([&] { return read_measured_table(folder.path("t.csv")); });
  return 0;
}
