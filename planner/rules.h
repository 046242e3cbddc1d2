// Legality as data: one row per rule of an engine.
//
// A row is (id, versions, severity, message, predicate). The predicate returns the offending number, or nothing when
// the rule holds; the message is a template over the facts of the configuration ({tp}, {kv_heads}, {value}, ...).
// Rules move between versions: give the range, never an `if` in code. Source of each row: a comment beside it.
// Wrong where a release candidate already has the rule of its successor.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/lowering/registry.h"
#include "costmodel/parallel_config.h"
#include "hwprofiles/profile.h"
#include "models/model_spec.h"
#include "sim/pool_role.h"

namespace shardplan {

// "0.30.1" as three numbers; missing parts are 0, "" sorts first, a suffix (rc1) is dropped.
struct Version {
  std::int64_t major = 0, minor = 0, patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
[[nodiscard]] Version parse_version(const std::string& text);  // InputError unless it starts with a number

struct VersionRange {
  const char* from = "";   // first version that has the rule
  const char* until = "";  // first version without it; "": still there
  [[nodiscard]] bool contains(const std::string& version) const;
};

enum class Severity : std::uint8_t { kError, kWarning };

struct RuleFacts {
  const ModelSpec& model;
  const ParallelConfig& config;
  const HardwareProfile& hardware;
  PoolRole role = PoolRole::kServe;
};

struct EngineRule {
  const char* id;
  VersionRange versions;
  Severity severity = Severity::kError;
  const char* message;                                      // template, see rule_message
  std::optional<std::int64_t> (*broken)(const RuleFacts&);  // the offending number
};

// The violations of `severity` among `rules` that hold in `version`.
[[nodiscard]] std::vector<Violation> check_rules(const std::vector<EngineRule>& rules, const RuleFacts& facts,
                                                 const std::string& version, Severity severity);

// Tables of an engine, one after the other.
[[nodiscard]] std::vector<EngineRule> joined_rules(const std::vector<std::vector<EngineRule>>& parts);

// `message` with {value} and the facts filled in: {pp} {dpa} {pcp} {tp} {dcp} {ep} {moe_tp} {moe_dp} {stage}
// (ranks of a stage) {redundant} {q_heads} {kv_heads} {experts} {vocab} {modules} (of MTP) {max_dcp}.
[[nodiscard]] std::string rule_message(const EngineRule& rule, const RuleFacts& facts, std::int64_t value);

// Facts that rules and messages share: of the first layer kind (attention) and of the first MoE kind (experts).
[[nodiscard]] const AttentionSpec& attention_of(const ModelSpec& model);
[[nodiscard]] const FfnSpec* moe_of(const ModelSpec& model);  // nullptr: dense

}  // namespace shardplan
