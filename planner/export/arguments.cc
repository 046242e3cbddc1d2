#include "planner/export/arguments.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace shardplan {
namespace {

const EngineArgument* last_of(const std::vector<EngineArgument>& list, const std::string& name) {
  for (auto argument = list.rbegin(); argument != list.rend(); ++argument) {
    if (argument->name == name) return &*argument;
  }
  return nullptr;
}

}  // namespace

Arguments& Arguments::set(std::string name, std::string value) {
  list_.push_back({std::move(name), std::move(value)});
  return *this;
}

Arguments& Arguments::set(std::string name, std::int64_t value) { return set(std::move(name), std::to_string(value)); }

Arguments& Arguments::turn_on(std::string name) {
  list_.push_back({std::move(name), "", true});
  return *this;
}

Arguments& Arguments::compute(std::string name, std::string expression) {
  list_.push_back({std::move(name), std::move(expression), false, true});
  return *this;
}

void Arguments::append(const Arguments& more) { list_.insert(list_.end(), more.list_.begin(), more.list_.end()); }

bool Arguments::has(const std::string& name) const { return last_of(list_, name) != nullptr; }

std::string Arguments::text(const std::string& name, const std::string& fallback) const {
  const EngineArgument* argument = last_of(list_, name);
  if (argument == nullptr) return fallback;
  return argument->is_switch ? "true" : argument->value;
}

std::int64_t Arguments::count(const std::string& name, std::int64_t fallback) const {
  const std::string value = text(name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && end == value.data() + value.size() ? number : fallback;
}

std::int64_t Arguments::count_in(const std::string& name, const char* key) const {
  const nlohmann::json object = nlohmann::json::parse(text(name), nullptr, false);
  if (!object.is_object() || !object.contains(key)) return 0;
  const nlohmann::json& value = object.at(key);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::int64_t Arguments::degree(const std::string& name, std::int64_t fallback) const {
  constexpr std::int64_t kMost = 10'000;
  return std::clamp<std::int64_t>(count(name, fallback), 1, kMost);
}

}  // namespace shardplan
