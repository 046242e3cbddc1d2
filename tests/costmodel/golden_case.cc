#include "tests/costmodel/golden_case.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tests/models/shared_data.h"

namespace shardplan {
namespace {

const std::optional<Json>& shared_golden() {
  static const std::optional<Json> golden = [] {
    const auto path = shared_path("golden.json");
    return path ? std::optional<Json>(read_json_file(*path)) : std::nullopt;
  }();
  return golden;
}

const Json* shared_case(const std::string& id) {
  if (!shared_golden()) return nullptr;
  for (const Json& entry : shared_golden()->at("cases")) {
    if (entry.at("id") == id) return &entry;
  }
  FAIL("golden.json has no case " << id);
  return nullptr;
}

}  // namespace

GoldenCase::GoldenCase(std::string id, double rel_tol) : id_(std::move(id)), rel_tol_(rel_tol) {
  const Json* entry = shared_case(id_);
  if (entry != nullptr) CHECK(entry->value("rel_tol", 0.0) == rel_tol_);
}

void GoldenCase::agree(const std::string& key, const Json& embedded) const {
  const Json* entry = shared_case(id_);
  if (entry == nullptr) return;
  INFO("golden.json, case " << id_ << ", " << key);
  CHECK(entry->at("expect").at(key) == embedded);
}

Approx GoldenCase::near(const std::string& key, double embedded) const {
  agree(key, embedded);
  return Approx(embedded).epsilon(rel_tol_ > 0 ? rel_tol_ : 1e-12).margin(0);
}

std::int64_t GoldenCase::count(const std::string& key, std::int64_t embedded) const {
  agree(key, embedded);
  return embedded;
}

Json GoldenCase::list(const std::string& key, const std::string& embedded) const {
  Json value = parse_json(embedded, id_);
  agree(key, value);
  return value;
}

}  // namespace shardplan
