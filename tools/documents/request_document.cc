#include "tools/documents/request_document.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"
#include "tools/request/parallel_fields.h"

namespace shardplan {
namespace {

template <class T>
bool reads_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

Document value_document(const GivenFlag& flag) {
  if (flag.text.empty()) return true;  // a switch
  std::int64_t whole = 0;
  double decimal = 0;
  if (flag.number && reads_whole(flag.text, whole)) return whole;
  if (flag.number && reads_whole(flag.text, decimal)) return decimal;
  return flag.text;
}

constexpr const char* kPlanSchema = "shardplan.plan/1";

std::string text_of_value(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw InputError(where, "is no flag's value", "a number or text");
}

}  // namespace

Document request_document(const RequestFlags& flags) {
  Document document = Document::object();
  for (const GivenFlag& flag : flags.given) document[key_of(flag.name)] = value_document(flag);
  return document;
}

Words read_request_words(const std::string& file) {
  const Json content = read_json_file(file);
  JsonObject document(content, file);
  const std::string schema = document.string("schema");
  if (schema != kPlanSchema) throw InputError(document.where("schema"), "\"" + schema + "\" is no plan", kPlanSchema);
  (void)document.object("request");
  Words words;
  for (const auto& [key, value] : document.find("request")->items()) {
    const std::string where = file + ": /request/" + key;
    if (key == "help") throw InputError(where, "is no part of a question", "the name of a flag");
    words.push_back(flag_of(key));
    if (value.is_boolean() && value.get<bool>()) continue;
    words.push_back(text_of_value(value, where));
  }
  return words;
}

}  // namespace shardplan
