#include "planner/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/errors.h"
#include "planner/engine.h"

namespace shardplan {
namespace {

// The number at the front of `text`, which is shortened by it and by one dot.
std::int64_t take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() == '.') text.remove_prefix(1);
  return value;
}

}  // namespace

Version parse_version(const std::string& text) {
  if (text.empty()) return {};
  std::string_view rest = text;
  if (rest.front() == 'v') rest.remove_prefix(1);
  if (rest.empty() || rest.front() < '0' || rest.front() > '9') {
    throw InputError("--engine-version", "'" + text + "' is no version", "numbers such as 0.30 or 0.19.1");
  }
  Version version;
  version.major = take_number(rest);
  version.minor = take_number(rest);
  version.patch = take_number(rest);
  return version;
}

bool VersionRange::contains(const std::string& version) const {
  const Version v = parse_version(version);
  const std::string end(until);
  return v >= parse_version(from) && (end.empty() || v < parse_version(end));
}

const AttentionSpec& attention_of(const ModelSpec& model) {
  ensure(!model.kinds.empty(), "a model has at least one kind of layer");
  return model.main_attention();
}

const FfnSpec* moe_of(const ModelSpec& model) {
  const auto moe = std::find_if(model.kinds.begin(), model.kinds.end(),
                                [](const LayerKind& kind) { return kind.ffn.kind == FfnKind::kMoe; });
  return moe == model.kinds.end() ? nullptr : &moe->ffn;
}

std::string rule_message(const EngineRule& rule, const RuleFacts& facts, std::int64_t value) {
  const ParallelConfig& c = facts.config;
  const AttentionSpec& attention = attention_of(facts.model);
  const FfnSpec* moe = moe_of(facts.model);
  return fmt::format(
      fmt::runtime(rule.message), fmt::arg("value", value), fmt::arg("pp", c.pp), fmt::arg("dpa", c.dpa),
      fmt::arg("pcp", c.pcp), fmt::arg("tp", c.tp), fmt::arg("dcp", c.dcp), fmt::arg("ep", c.ep),
      fmt::arg("moe_tp", c.moe_tp), fmt::arg("moe_dp", c.moe_dp), fmt::arg("stage", c.stage_ranks()),
      fmt::arg("redundant", c.variant.redundant_experts), fmt::arg("q_heads", attention.q_heads),
      fmt::arg("kv_heads", attention.kv_heads), fmt::arg("experts", moe == nullptr ? 0 : moe->experts),
      fmt::arg("vocab", facts.model.vocab), fmt::arg("modules", facts.model.mtp_modules),
      fmt::arg("max_dcp", std::max<std::int64_t>(1, c.tp / std::max<std::int64_t>(1, attention.kv_heads))));
}

std::vector<EngineRule> joined_rules(const std::vector<std::vector<EngineRule>>& parts) {
  std::vector<EngineRule> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Violation> check_rules(const std::vector<EngineRule>& rules, const RuleFacts& facts,
                                   const std::string& version, Severity severity) {
  std::vector<Violation> out;
  for (const EngineRule& rule : rules) {
    if (rule.severity != severity || !rule.versions.contains(version)) continue;
    if (const auto value = rule.broken(facts)) out.push_back({rule.id, rule_message(rule, facts, *value)});
  }
  return out;
}

std::string Engine::release_at(const std::string& day) const {
  const std::string month = day.substr(0, std::string_view("2025-10").size());
  const bool is_month = month.size() == 7 && month[4] == '-' && month.find_first_not_of("0123456789-") == std::string::npos;
  std::string version;
  for (const Release& release : releases) {
    if (is_month && month >= release.month) version = release.version;
  }
  return version;
}

std::vector<Violation> Engine::check(const ModelSpec& model, const ParallelConfig& config,
                                     const HardwareProfile& hardware, const std::string& version, PoolRole role) const {
  return check_rules(rules(), {model, config, hardware, role}, version.empty() ? default_version : version,
                     Severity::kError);
}

std::vector<Violation> Engine::warnings(const ModelSpec& model, const ParallelConfig& config,
                                        const HardwareProfile& hardware, const std::string& version) const {
  return check_rules(rules(), {model, config, hardware}, version.empty() ? default_version : version,
                     Severity::kWarning);
}

}  // namespace shardplan
