// Any bytes either parse, and then read and print without a fault, or are an InputError.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"

namespace {

void read_everything(const shardplan::Json& document) {
  shardplan::JsonObject object(document, "fuzz");
  for (const std::string& key : object.unread_keys()) {
    try {
      (void)object.integer_or(key, 0, -4, 1LL << 40);
      (void)object.objects(key);
    } catch (const shardplan::InputError&) {  // the expected refusal
    }
  }
  object.refuse_unread();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto document =
        shardplan::parse_json(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    (void)document.dump();
    read_everything(document);
  } catch (const shardplan::InputError&) {  // the expected refusal
  }
  return 0;
}
