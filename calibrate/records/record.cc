#include "calibrate/records/record.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/file.h"
#include "base/json.h"

namespace shardplan {
namespace {

using Line = nlohmann::ordered_json;

constexpr std::int64_t kMostBytes = 1LL << 30;
constexpr double kMost = 1e300;
constexpr std::array<std::string_view, 13> kNotShape{"kind", "library", "format", "op", "clock_mhz", "ranks", "flops", "bytes", "microseconds", "spread", "samples", "device", "note"};

RecordHeader header_of(const Json& json, const std::string& where) {
  JsonObject object(json, where);
  if (object.string("kind") != "header") throw InputError(where, "the first line is no header", "\"kind\": \"header\"");
  if (object.string("schema") != kRecordsSchema) throw InputError(where, "other schema", kRecordsSchema);
  RecordHeader header{object.string("backend"), object.string("device")};
  header.cores = object.integer_or("cores", 0, 0, 1 << 20);
  header.last_level_cache_bytes = object.number_or("last_level_cache_bytes", 0, 0, kMost);
  header.memory_bytes = object.number_or("memory_bytes", 0, 0, kMost);
  if (auto libraries = object.object_if("libraries")) {
    for (const std::string& name : libraries->unread_keys()) header.libraries[name] = libraries->string(name);
  }
  return header;
}

Record record_of(const Json& json, const std::string& where) {
  JsonObject object(json, where);
  Record record{.kind = object.string("kind"), .format = object.string_or("format", ""), .op = object.string_or("op", "")};
  record.ranks = object.integer_or("ranks", 1, 1, 1 << 20);
  record.flops = object.number_or("flops", 0, 0, kMost);
  record.bytes = object.number_or("bytes", 0, 0, kMost);
  record.microseconds = object.number("microseconds", 1e-6, kMost);
  record.spread = object.number_or("spread", 0, 0, kMost);
  record.samples = object.integer_or("samples", 1, 0, 1LL << 60);
  record.device = object.string_or("device", "");
  record.clock_mhz = object.number_or("clock_mhz", 0, 0, kMost);
  record.note = object.string_or("note", "");
  record.library = object.string_or("library", "");
  for (const std::string& name : object.unread_keys()) {
    if (std::find(kNotShape.begin(), kNotShape.end(), name) != kNotShape.end()) continue;
    record.shape.emplace_back(name, object.integer(name, 0, 1LL << 60));
  }
  return record;
}

// What is dropped of a file that was cut inside its first line is a header's beginning, and no other file's only line.
void require_begun_header(std::string_view begun, const std::string& path) {
  constexpr std::string_view kStart = R"({"kind":"header")";
  if (begun.substr(0, kStart.size()) == kStart.substr(0, begun.size())) return;
  throw InputError(path + ":1", "is no record", "what calibrate run writes");
}

}  // namespace

std::string measurement_key(std::string_view kind, std::string_view format, const std::vector<std::pair<std::string, std::int64_t>>& shape,
                            std::int64_t ranks) {
  auto fields = shape;
  std::sort(fields.begin(), fields.end());
  std::string text = std::string(kind) + " " + std::string(format);
  for (const auto& [name, value] : fields) text += " " + name + "=" + std::to_string(value);
  return text + " ranks=" + std::to_string(ranks);
}

std::string Record::key() const { return measurement_key(op.empty() ? kind : kind + "." + op, format, shape, ranks); }

std::int64_t Record::field(std::string_view name) const {
  const auto found = std::find_if(shape.begin(), shape.end(), [&](const auto& field) { return field.first == name; });
  return found == shape.end() ? 0 : found->second;
}

std::vector<Record> best_of_rounds(const std::vector<Record>& records) {
  struct Rounds {
    const Record* best = nullptr;
    double slowest = 0;
  };
  std::vector<std::map<std::string, Rounds>> by_library;   // of each shape, in the order in which they come
  std::map<std::string, std::size_t> places;
  for (const Record& record : records) {
    const auto [place, fresh] = places.try_emplace(record.key(), by_library.size());
    if (fresh) by_library.emplace_back();
    Rounds& rounds = by_library[place->second][record.library];
    if (rounds.best == nullptr || record.microseconds < rounds.best->microseconds) rounds.best = &record;
    rounds.slowest = std::max(rounds.slowest, record.microseconds);
  }
  std::vector<Record> best;
  for (const auto& libraries : by_library) {
    const auto fastest = std::min_element(libraries.begin(), libraries.end(), [](const auto& a, const auto& b) {
      return a.second.best->microseconds < b.second.best->microseconds;
    });
    best.push_back(*fastest->second.best);
    best.back().spread = std::max(best.back().spread, fastest->second.slowest / best.back().microseconds - 1);
  }
  return best;
}

std::string line_of(const RecordHeader& header) {
  const Line line = {{"kind", "header"}, {"schema", kRecordsSchema}, {"backend", header.backend}, {"device", header.device}, {"cores", header.cores},
                     {"last_level_cache_bytes", header.last_level_cache_bytes}, {"memory_bytes", header.memory_bytes},
                     {"program", {{"name", "shardplan"}, {"version", header.program}}}, {"libraries", header.libraries}};
  return line.dump() + "\n";
}

std::string line_of(const Record& record) {
  Line line = {{"kind", record.kind}, {"format", record.format}};
  if (!record.op.empty()) line["op"] = record.op;
  for (const auto& [name, value] : record.shape) line[name] = value;
  line.update({{"ranks", record.ranks}, {"flops", record.flops}, {"bytes", record.bytes}, {"microseconds", record.microseconds},
               {"spread", record.spread}, {"samples", record.samples}, {"device", record.device}});
  if (record.clock_mhz > 0) line["clock_mhz"] = record.clock_mhz;
  if (!record.library.empty()) line["library"] = record.library;
  if (!record.note.empty()) line["note"] = record.note;
  return line.dump() + "\n";
}

RecordFile read_records(const std::string& path) {
  const std::string text = read_file(path, kMostBytes);
  RecordFile file{.path = path};
  std::int64_t number = 0;
  for (std::size_t start = 0; start < text.size(); ++number) {
    const std::size_t end = text.find('\n', start);
    file.cut = end == std::string::npos;
    if (file.cut) {
      if (number == 0) require_begun_header(std::string_view(text).substr(start), path);
      break;
    }
    const std::string where = path + ":" + std::to_string(number + 1);
    const Json json = parse_json(std::string_view(text).substr(start, end - start), where);
    if (number == 0) file.header = header_of(json, where);
    else file.records.push_back(record_of(json, where));
    start = end + 1;
    file.complete_bytes = static_cast<std::int64_t>(start);
  }
  return file;
}

}  // namespace shardplan
