// A short list that never allocates: up to `Capacity` trivially copyable elements inside the object.
//
// The lowering makes thousands of lists of one to eight small elements; std::vector's allocations were more than half of
// its time. Going over the capacity is a fault of ours (InternalError).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "base/errors.h"

namespace shardplan {

template <class T, std::size_t Capacity>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  InlineVector(std::initializer_list<T> items) : InlineVector(items.begin(), items.end()) {}
  template <class Iterator>
  InlineVector(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  InlineVector(std::size_t count, const T& item) {
    for (std::size_t i = 0; i < count; ++i) push_back(item);
  }

  void push_back(const T& item) {
    ensure(size_ < Capacity, "a short list is full");
    items_[size_++] = item;
  }
  template <class Iterator>
  void insert(const_iterator position, Iterator first, Iterator last) {   // at the end only
    ensure(position == end(), "a short list grows at its end");
    for (; first != last; ++first) push_back(*first);
  }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    size_ = static_cast<std::size_t>(std::remove_if(begin(), end(), predicate) - begin());
  }
  void clear() { size_ = 0; }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] iterator begin() { return items_.data(); }
  [[nodiscard]] iterator end() { return items_.data() + size_; }
  [[nodiscard]] const_iterator begin() const { return items_.data(); }
  [[nodiscard]] const_iterator end() const { return items_.data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return items_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return items_[i]; }
  [[nodiscard]] T& front() { return items_[0]; }
  [[nodiscard]] const T& front() const { return items_[0]; }
  [[nodiscard]] T& back() { return items_[size_ - 1]; }
  [[nodiscard]] const T& back() const { return items_[size_ - 1]; }

  friend bool operator==(const InlineVector& a, const InlineVector& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  std::array<T, Capacity> items_{};
  std::size_t size_ = 0;
};

}  // namespace shardplan
