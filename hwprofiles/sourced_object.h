// A JSON object whose numbers say where they come from:
//   "memory_bandwidth": {"value": "4.8 TB/s", "source": "vendor datasheet", "note": "optional"}
//
// Values carry their unit; the source is recorded under the value's JSON pointer. InputError on a missing unit or
// source, and on any other key.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/quantity.h"

namespace shardplan {

using Sources = std::map<std::string, std::string>;  // JSON pointer -> source

class SourcedObject {
 public:
  // `pointer` is the JSON pointer of `object`; `sources` must outlive this.
  SourcedObject(JsonObject object, std::string pointer, Sources& sources);

  [[nodiscard]] JsonObject& plain() { return object_; }
  [[nodiscard]] SourcedObject section(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const { return object_.has(key); }

  // Required, and within what a machine can have.
  [[nodiscard]] Bytes bytes(std::string_view key);
  [[nodiscard]] BytesPerSecond bandwidth(std::string_view key);
  [[nodiscard]] FlopsPerSecond flops_rate(std::string_view key);
  [[nodiscard]] Seconds latency(std::string_view key);  // zero is allowed
  [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t max);

  [[nodiscard]] double number(std::string_view key, double max);  // the unit is in the key

  // Reads the "source" that covers the whole object.
  void read_source();
  void refuse_unread() const { object_.refuse_unread(); }

 private:
  template <class Parse>
  auto text_value(std::string_view key, Parse parse);
  JsonObject value_object(std::string_view key);
  void require_range(std::string_view key, double value, double min, double max) const;

  JsonObject object_;
  std::string pointer_;
  Sources& sources_;
};

// The non-empty string under "source", or InputError.
[[nodiscard]] std::string read_source_text(JsonObject& object);

}  // namespace shardplan
