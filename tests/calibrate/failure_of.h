// What a failing run says.
#pragma once

#include <exception>
#include <string>

#include "tests/catch.h"

namespace shardplan {

// The message of whatever `action` throws; "" when it throws nothing.
template <class Action>
std::string failure_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
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
