#include "planner/search/rejections.h"

#include <algorithm>
#include <array>

#include "planner/engine.h"

namespace shardplan {
namespace {

struct FamilyBit {
  const char* name;
  bool (*uses)(const ParallelConfig&);
};

constexpr std::array kFamilies{
    FamilyBit{"pp", [](const ParallelConfig& c) { return c.pp > 1; }},
    FamilyBit{"dpa", [](const ParallelConfig& c) { return c.dpa > 1; }},
    FamilyBit{"pcp", [](const ParallelConfig& c) { return c.pcp > 1; }},
    FamilyBit{"tp", [](const ParallelConfig& c) { return c.tp > 1; }},
    FamilyBit{"dcp", [](const ParallelConfig& c) { return c.dcp > 1 && !c.variant.helix; }},
    FamilyBit{"helix", [](const ParallelConfig& c) { return c.variant.helix; }},
    FamilyBit{"ep", [](const ParallelConfig& c) { return c.ep > 1; }},
};

std::uint32_t family_mask(const ParallelConfig& config) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    if (kFamilies[i].uses(config)) mask |= 1U << i;
  }
  return mask;
}

// Rules of an engine are named after it: "rtp_llm_heads".
bool is_engine_rule(const std::string& rule) {
  const auto owns = [&rule](const Engine& engine) {
    std::string prefix = engine.name;
    std::replace(prefix.begin(), prefix.end(), '-', '_');
    return rule.starts_with(prefix + "_");
  };
  return std::any_of(engines().begin(), engines().end(), owns);
}

// Memory and targets first: they are what a user can change; rules of an engine, then of the algebra, then dominance.
int order_of(const std::string& rule) {
  if (rule == "ttft" || rule == "tpot" || rule == "e2e" || rule == "traffic") return 0;
  if (rule == "memory") return 1;
  if (rule == "dominated" || rule == "idle_gpus") return 4;
  return is_engine_rule(rule) ? 2 : 3;
}

}  // namespace

std::string family_of(const ParallelConfig& config) {
  std::string text;
  for (const FamilyBit& bit : kFamilies) {
    if (bit.uses(config)) text += (text.empty() ? "" : "+") + std::string(bit.name);
  }
  return text.empty() ? "1 GPU" : text;
}

void RejectionTally::add(const ParallelConfig& config, const std::string& rule, double miss,
                         const std::function<Refusal()>& say, std::int64_t count) {
  const auto [at, fresh] = rows_.try_emplace({family_mask(config), rule});
  Row& row = at->second;
  if (fresh) {
    row.rejection.family = family_of(config);
    row.rejection.rule = rule;
    row.rejection.count = 0;
  }
  row.rejection.count += count;
  if (!fresh && miss >= row.miss) return;
  Refusal refusal = say();
  row.miss = miss;
  row.rejection.config = config;
  row.rejection.message = std::move(refusal.message);
  row.rejection.suggestion = std::move(refusal.suggestion);
}

void RejectionTally::merge(const RejectionTally& other) {
  for (const auto& [key, theirs] : other.rows_) {
    const auto [at, fresh] = rows_.try_emplace(key, theirs);
    if (fresh) continue;
    const std::int64_t count = at->second.rejection.count + theirs.rejection.count;
    if (theirs.miss < at->second.miss) at->second = theirs;
    at->second.rejection.count = count;
  }
}

std::vector<Rejection> RejectionTally::rows() const {
  std::vector<const Row*> order;
  for (const auto& [key, row] : rows_) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const Row* a, const Row* b) {
    const int oa = order_of(a->rejection.rule), ob = order_of(b->rejection.rule);
    if (oa != ob) return oa < ob;
    return a->miss < b->miss;
  });
  std::vector<Rejection> rows;
  for (const Row* row : order) rows.push_back(row->rejection);
  return rows;
}

RejectionTally::Nearest RejectionTally::nearest(const std::string& rule) const {
  Nearest best;
  for (const auto& [key, row] : rows_) {
    if (key.second == rule && (best.rejection == nullptr || row.miss < best.miss)) best = {&row.rejection, row.miss};
  }
  return best;
}

}  // namespace shardplan
