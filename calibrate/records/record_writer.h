// Appends records to a file as they come, so that whatever ends a run leaves all results before it.
#pragma once

#include <cstdio>
#include <memory>
#include <map>
#include <string>
#include <vector>

#include "calibrate/records/record.h"

namespace shardplan {

class RecordWriter {
 public:
  // Goes on with `path` where it is there (half a line at its end is cut off), else begins it with the header. InputError when the
  // file is of another device, backend or library version or was made without a library that is here, no file of records, or in the hands of another writer.
  RecordWriter(std::string path, const RecordHeader& header);

  // Rounds in which it was measured, by whichever library was most often.
  [[nodiscard]] int rounds(const std::string& key) const {
    int most = 0;
    if (const auto found = keys_.find(key); found != keys_.end()) {
      for (const auto& [library, count] : found->second) most = most < count ? count : most;
    }
    return most;
  }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  // On disk when it returns, all or, but for a machine that stops meanwhile, none: what several libraries took for one shape
  // belongs together. EnvironmentError "FILE: cannot write ...; N records are kept" (a full disk).
  void append(const std::vector<Record>& records);
  void append(const Record& record) { append(std::vector<Record>{record}); }

 private:
  void check_libraries(const RecordHeader& before, const RecordHeader& now) const;
  void write(const std::string& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  using Rounds = std::map<std::string, int>;   // by library
  std::map<std::string, Rounds> keys_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace shardplan
