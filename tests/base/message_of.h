// What a refused input says, for tests of error messages.
#pragma once

#include <string>

#include "base/errors.h"
#include "tests/catch.h"

namespace shardplan {

// The message of the InputError that `action` throws; "" when it throws none.
template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// For CHECK_THAT, under one name in Catch2 2 and 3.
inline auto contains_text(const std::string& text) {
#if CATCH_VERSION_MAJOR >= 3
  return Catch::Matchers::ContainsSubstring(text);
#else
  return Catch::Matchers::Contains(text);
#endif
}

}  // namespace shardplan
