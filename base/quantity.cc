#include "base/quantity.h"

#include "base/errors.h"

namespace shardplan {

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw InputError(what, "is too large to count in 64 bits", "sizes of a real model");
  }
  return result;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    throw InputError(what, "is too large to count in 64 bits", "sizes of a real model");
  }
  return result;
}

}  // namespace shardplan
