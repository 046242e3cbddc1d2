// Numbers and texts as bytes, between processes of one machine type: written and read in the same order.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"

namespace shardplan {

class ByteWriter {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    bytes_.append(value);
  }
  template <class T>
  void numbers(const std::vector<T>& values) {
    number(static_cast<std::int64_t>(values.size()));
    if (!values.empty()) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// InternalError when the bytes end early.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] T number() {
    T value{};
    std::memcpy(&value, next(sizeof value), sizeof value);
    return value;
  }
  [[nodiscard]] std::string text() {
    const auto size = static_cast<std::size_t>(number<std::int64_t>());
    return {next(size), size};
  }
  template <class T>
  [[nodiscard]] std::vector<T> numbers() {
    std::vector<T> values(static_cast<std::size_t>(number<std::int64_t>()));
    if (!values.empty()) std::memcpy(values.data(), next(values.size() * sizeof(T)), values.size() * sizeof(T));
    return values;
  }

 private:
  const char* next(std::size_t size) {
    ensure(size <= bytes_.size(), "a message between processes ends early");
    const char* at = bytes_.data();
    bytes_.remove_prefix(size);
    return at;
  }

  std::string_view bytes_;
};

}  // namespace shardplan
