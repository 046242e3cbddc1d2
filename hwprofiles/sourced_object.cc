#include "hwprofiles/sourced_object.h"

#include "base/errors.h"
#include "base/units.h"

namespace shardplan {

std::string read_source_text(JsonObject& object) {
  std::string source = object.string("source");
  if (source.empty()) throw InputError(object.where("source"), "is empty", "where the number comes from");
  return source;
}

SourcedObject::SourcedObject(JsonObject object, std::string pointer, Sources& sources)
    : object_(std::move(object)), pointer_(std::move(pointer)), sources_(sources) {}

SourcedObject SourcedObject::section(std::string_view key) {
  return SourcedObject(object_.object(key), pointer_ + "/" + std::string(key), sources_);
}

JsonObject SourcedObject::value_object(std::string_view key) {
  if (!object_.has(key)) throw InputError(object_.where(key), "is missing", R"({"value": ..., "source": "..."})");
  JsonObject value = object_.object(key);
  sources_[pointer_ + "/" + std::string(key)] = read_source_text(value);
  value.ignore("note");
  return value;
}

void SourcedObject::require_range(std::string_view key, double value, double min, double max) const {
  if (value >= min && value <= max) return;
  throw InputError(object_.where(key), value < min ? "is too small" : "is too large",
                   "a quantity that a machine can have");
}

template <class Parse>
auto SourcedObject::text_value(std::string_view key, Parse parse) {
  JsonObject value = value_object(key);
  const auto quantity = parse(value.string("value"), value.where("value"));
  value.refuse_unread({"value", "source", "note"});
  return quantity;
}

Bytes SourcedObject::bytes(std::string_view key) {
  const Bytes value = text_value(key, parse_bytes);
  require_range(key, static_cast<double>(value.value()), 1, 1e18);
  return value;
}

BytesPerSecond SourcedObject::bandwidth(std::string_view key) {
  const BytesPerSecond value = text_value(key, parse_bandwidth);
  require_range(key, value.value(), 1, 1e18);
  return value;
}

FlopsPerSecond SourcedObject::flops_rate(std::string_view key) {
  const FlopsPerSecond value = text_value(key, parse_flops_rate);
  require_range(key, value.value(), 1, 1e21);
  return value;
}

Seconds SourcedObject::latency(std::string_view key) {
  const Seconds value = text_value(key, parse_seconds);
  require_range(key, value.value(), 0, 1);
  return value;
}

std::int64_t SourcedObject::count(std::string_view key, std::int64_t max) {
  JsonObject value = value_object(key);
  const std::int64_t number = value.integer("value", 1, max);
  value.refuse_unread({"value", "source", "note"});
  return number;
}

double SourcedObject::number(std::string_view key, double max) {
  JsonObject value = value_object(key);
  const double result = value.number("value", 0, max);
  value.refuse_unread({"value", "source", "note"});
  return result;
}

void SourcedObject::read_source() { sources_[pointer_] = read_source_text(object_); }

}  // namespace shardplan
