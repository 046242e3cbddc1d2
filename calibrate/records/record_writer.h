// Appends records to a file as they come, so that whatever ends a run leaves all results before it.
#pragma once

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "calibrate/records/record.h"

namespace shardplan {

class RecordWriter {
 public:
  // Goes on with `path` where it is there (half a line at its end is cut off), else begins it with the header. InputError when the
  // file is of another device or backend.
  RecordWriter(std::string path, const RecordHeader& header);

  [[nodiscard]] bool has(const std::string& key) const { return keys_.contains(key); }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  // On disk when it returns. EnvironmentError "FILE: cannot write ...; N records are kept" (a full disk).
  void append(const Record& record);

 private:
  void write(const std::string& line);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::set<std::string> keys_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace shardplan
