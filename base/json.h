// Strict JSON reading on top of nlohmann/json.
//
// nlohmann accepts duplicate keys and numbers that overflow to infinity; this reader refuses
// both, and every error names the file and the JSON pointer. A JsonObject remembers which keys
// were read, so that unknown keys can be refused (profiles) or reported (a model's config.json).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

using Json = nlohmann::json;

// Largest JSON text that is read, and deepest nesting: hostile input ends with an InputError.
inline constexpr std::int64_t kMaxJsonBytes = 256LL << 20;
inline constexpr int kMaxJsonDepth = 64;

// Parses `text`; `where` names it in errors. Refuses duplicate keys, NaN/Inf, deep nesting.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& where);
[[nodiscard]] Json read_json_file(const std::string& path);

// A view of one JSON object. The Json and this view's parent must outlive it.
class JsonObject {
 public:
  // `where` is a file name; `pointer` the JSON pointer of `object`. InputError unless an object.
  JsonObject(const Json& object, std::string where, std::string pointer = "");

  [[nodiscard]] bool has(std::string_view key) const;    // present and not null
  [[nodiscard]] const Json* find(std::string_view key);  // marks as read; nullptr if absent or null

  // Required values, or InputError.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  [[nodiscard]] double number(std::string_view key, double min, double max);
  [[nodiscard]] std::string string(std::string_view key);
  [[nodiscard]] JsonObject object(std::string_view key);

  // Optional values (absent or null gives the default / nullopt); a wrong type is an InputError.
  [[nodiscard]] std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max);
  [[nodiscard]] double number_or(std::string_view key, double fallback, double min, double max);
  [[nodiscard]] bool boolean_or(std::string_view key, bool fallback);
  [[nodiscard]] std::string string_or(std::string_view key, std::string_view fallback);
  [[nodiscard]] std::optional<JsonObject> object_if(std::string_view key);
  [[nodiscard]] std::vector<JsonObject> objects(std::string_view key);  // array of objects; empty if absent
  [[nodiscard]] std::vector<std::string> strings(std::string_view key); // array of strings; empty if absent

  void ignore(std::string_view key);                          // mark as read without a look
  [[nodiscard]] std::vector<std::string> unread_keys() const;  // in document order of nlohmann (sorted)
  void refuse_unread(const std::vector<std::string_view>& known = {}) const;  // InputError, nearest known key named

  // "file: /a/b" for error messages about `key`.
  [[nodiscard]] std::string where(std::string_view key = "") const;

 private:
  const Json* object_;
  std::string file_;
  std::string pointer_;
  std::vector<std::string> read_;
};

}  // namespace shardplan
