#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "base/errors.h"
#include "base/file.h"
#include "base/suggest.h"

namespace shardplan {
namespace {

// One reference token of a JSON pointer: "~" is written ~0 and "/" is written ~1.
std::string escaped(std::string_view key) {
  std::string result;
  for (const char c : key) result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return result;
}

// The start of `token`, fit for a one-line message whatever bytes the file holds.
std::string printable(std::string_view token) {
  std::string result(token.substr(0, 24));
  std::replace_if(result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return result;
}

// Builds the document while refusing duplicate keys and deep nesting.
class StrictSax : public nlohmann::detail::json_sax_dom_parser<Json> {
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

 public:
  StrictSax(Json& document, const std::string& where) : Base(document, false), where_(where) {}

  bool key(string_t& name) {
    levels_.back().current = name;
    if (!levels_.back().keys.insert(name).second) {
      throw InputError(fmt::format("{}: {}", where_, pointer()), "is given twice", "each key once");
    }
    return Base::key(name);
  }
  bool start_object(std::size_t count) { enter(); return Base::start_object(count); }
  bool end_object() { levels_.pop_back(); return Base::end_object(); }
  bool start_array(std::size_t count) { enter(); return Base::start_array(count); }
  bool end_array() { levels_.pop_back(); return Base::end_array(); }
  // The parser itself reports a number beyond double's range as its own kind of exception.
  template <class Exception>
  bool parse_error(std::size_t position, const std::string& token, const Exception&) {
    if constexpr (std::is_base_of_v<nlohmann::detail::out_of_range, Exception>) {
      throw InputError(where_, fmt::format("number {} is out of range", printable(token)), "a finite number");
    } else {
      throw InputError(where_, fmt::format("not valid JSON at byte {} near \"{}\"", position, printable(token)),
                       "a complete JSON document");
    }
  }

 private:
  struct Level {
    std::set<std::string> keys;
    std::string current;  // the key being read; empty in an array
  };
  void enter() {
    levels_.emplace_back();
    if (static_cast<int>(levels_.size()) > kMaxJsonDepth) {
      throw InputError(where_, "nested too deeply", fmt::format("at most {} levels", kMaxJsonDepth));
    }
  }
  // The JSON pointer of the current key; an array's index is written "-" (it is not counted).
  std::string pointer() const {
    std::string result;
    for (const Level& level : levels_) result += "/" + (level.keys.empty() ? "-" : escaped(printable(level.current)));
    return result;
  }

  const std::string& where_;
  std::vector<Level> levels_;
};

const char* type_of(const Json& value) { return value.type_name(); }

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  Json root;
  StrictSax sax(root, where);
  try {
    Json::sax_parse(text.begin(), text.end(), &sax);
  } catch (const nlohmann::json::exception&) {
    throw InputError(where, "not valid JSON", "a complete JSON document");
  }
  return root;
}

Json read_json_file(const std::string& path) { return parse_json(read_file(path, kMaxJsonBytes), path); }

JsonObject::JsonObject(const Json& object, std::string where, std::string pointer)
    : object_(&object), file_(std::move(where)), pointer_(std::move(pointer)) {
  if (!object.is_object()) throw InputError(this->where(), fmt::format("is {}", type_of(object)), "a JSON object");
}

std::string JsonObject::where(std::string_view key) const {
  if (pointer_.empty() && key.empty()) return file_;
  return key.empty() ? fmt::format("{}: {}", file_, pointer_) : fmt::format("{}: {}/{}", file_, pointer_, escaped(key));
}

bool JsonObject::has(std::string_view key) const {
  const auto it = object_->find(std::string(key));
  return it != object_->end() && !it->is_null();
}

const Json* JsonObject::find(std::string_view key) {
  const auto it = object_->find(std::string(key));
  if (it == object_->end()) return nullptr;
  read_.emplace_back(key);
  return it->is_null() ? nullptr : &*it;
}

std::int64_t JsonObject::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  const Json* value = find(key);
  const std::string range = fmt::format("an integer from {} to {}", min, max);
  if (value == nullptr) throw InputError(where(key), "is missing", range);
  if (!value->is_number_integer()) {
    throw InputError(where(key), fmt::format("is {}", value->is_number() ? "not an integer" : type_of(*value)), range);
  }
  const bool too_big = value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(std::max<std::int64_t>(max, 0));
  if (too_big || value->get<std::int64_t>() < min || value->get<std::int64_t>() > max) {
    throw InputError(where(key), fmt::format("is {}", value->dump()), range);
  }
  return value->get<std::int64_t>();
}

double JsonObject::number(std::string_view key, double min, double max) {
  const Json* value = find(key);
  const std::string range = fmt::format("a number from {} to {}", min, max);
  if (value == nullptr) throw InputError(where(key), "is missing", range);
  if (!value->is_number()) throw InputError(where(key), fmt::format("is {}", type_of(*value)), range);
  const double number = value->get<double>();
  if (!(number >= min && number <= max)) throw InputError(where(key), fmt::format("is {}", value->dump()), range);
  return number;
}

std::string JsonObject::string(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) throw InputError(where(key), "is missing", "a string");
  if (!value->is_string()) throw InputError(where(key), fmt::format("is {}", type_of(*value)), "a string");
  return value->get<std::string>();
}

JsonObject JsonObject::object(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) throw InputError(where(key), "is missing", "a JSON object");
  return JsonObject(*value, file_, fmt::format("{}/{}", pointer_, escaped(key)));
}

std::int64_t JsonObject::integer_or(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max) {
  return find(key) == nullptr ? fallback : integer(key, min, max);
}

double JsonObject::number_or(std::string_view key, double fallback, double min, double max) {
  return find(key) == nullptr ? fallback : number(key, min, max);
}

bool JsonObject::boolean_or(std::string_view key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) throw InputError(where(key), fmt::format("is {}", type_of(*value)), "true or false");
  return value->get<bool>();
}

std::string JsonObject::string_or(std::string_view key, std::string_view fallback) {
  return find(key) == nullptr ? std::string(fallback) : string(key);
}

std::optional<JsonObject> JsonObject::object_if(std::string_view key) {
  if (find(key) == nullptr) return std::nullopt;
  return object(key);
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) {
  std::vector<JsonObject> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array()) throw InputError(where(key), fmt::format("is {}", type_of(*value)), "an array of objects");
  for (std::size_t i = 0; i < value->size(); ++i) {
    result.emplace_back((*value)[i], file_, fmt::format("{}/{}/{}", pointer_, escaped(key), i));
  }
  return result;
}

std::vector<std::string> JsonObject::strings(std::string_view key) {
  std::vector<std::string> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  const bool good = value->is_array() &&
                    std::all_of(value->begin(), value->end(), [](const Json& item) { return item.is_string(); });
  if (!good) throw InputError(where(key), "is not a list of strings", "an array of strings");
  for (const Json& item : *value) result.push_back(item.get<std::string>());
  return result;
}

void JsonObject::ignore(std::string_view key) { read_.emplace_back(key); }

std::vector<std::string> JsonObject::unread_keys() const {
  std::vector<std::string> result;
  for (auto it = object_->begin(); it != object_->end(); ++it) {
    if (std::find(read_.begin(), read_.end(), it.key()) == read_.end()) result.push_back(it.key());
  }
  return result;
}

void JsonObject::refuse_unread(const std::vector<std::string_view>& known) const {
  const auto unread = unread_keys();
  if (unread.empty()) return;
  std::vector<std::string> candidates(known.begin(), known.end());
  if (candidates.empty()) candidates = read_;
  throw InputError(where(unread.front()), "is not a known key", nearest_hint(unread.front(), candidates));
}

}  // namespace shardplan
