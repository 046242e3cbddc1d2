#include "planner/search/fixed.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/errors.h"
#include "planner/search/variants.h"

namespace shardplan {
namespace {

struct Field {
  const char* name;
  bool searched;
  std::function<bool(const ParallelConfig&, const ParallelConfig&)> same;
  std::function<void(const ParallelConfig& from, ParallelConfig& to)> copy;
};

template <class Member>
Field degree(const char* name, bool searched, Member ParallelConfig::*member) {
  return {name, searched, [member](const ParallelConfig& a, const ParallelConfig& b) { return a.*member == b.*member; },
          [member](const ParallelConfig& from, ParallelConfig& to) { to.*member = from.*member; }};
}

template <class Member>
Field variant(const char* name, bool searched, Member Variant::*member) {
  return {name, searched,
          [member](const ParallelConfig& a, const ParallelConfig& b) { return a.variant.*member == b.variant.*member; },
          [member](const ParallelConfig& from, ParallelConfig& to) { to.variant.*member = from.variant.*member; }};
}

const std::vector<Field>& fields() {
  static const std::vector<Field> table{
      degree("replicas", true, &ParallelConfig::replicas),
      degree("pp", true, &ParallelConfig::pp),
      degree("dpa", true, &ParallelConfig::dpa),
      degree("pcp", true, &ParallelConfig::pcp),
      degree("tp", true, &ParallelConfig::tp),
      degree("dcp", true, &ParallelConfig::dcp),
      degree("ep", true, &ParallelConfig::ep),
      degree("moe_tp", true, &ParallelConfig::moe_tp),
      degree("moe_dp", true, &ParallelConfig::moe_dp),
      degree("dense_tp", false, &ParallelConfig::dense_tp),
      degree("shared_expert_tp", false, &ParallelConfig::shared_expert_tp),
      degree("pp_layers", false, &ParallelConfig::pp_layers),
      variant("dcp_comm", true, &Variant::dcp_comm),
      variant("q_replicate", true, &Variant::q_replicate),
      variant("helix", true, &Variant::helix),
      variant("hop_b", true, &Variant::hop_b),
      variant("cp_interleave", false, &Variant::cp_interleave),
      variant("pcp_comm", true, &Variant::pcp_comm),
      variant("pcp_layout", true, &Variant::pcp_layout),
      variant("moe_comm", true, &Variant::moe_comm),
      variant("redundant_experts", false, &Variant::redundant_experts),
      variant("capacity_factor", false, &Variant::capacity_factor_ratio),
      variant("elastic_ep", false, &Variant::elastic_ep),
      variant("overlap", false, &Variant::overlap),
      variant("overlap_chunks", false, &Variant::overlap_chunks),
      variant("speculative_tokens", false, &Variant::speculative_tokens),
  };
  return table;
}

const Field& require_field(const std::string& name) {
  const auto field = std::find_if(fields().begin(), fields().end(), [&name](const Field& f) { return name == f.name; });
  ensure(field != fields().end(), "a fixed name is no field of ParallelConfig");
  return *field;
}

}  // namespace

bool is_fixed(const PlanRequest& request, std::string_view name) {
  return std::find(request.fixed_names.begin(), request.fixed_names.end(), name) != request.fixed_names.end();
}

void copy_fixed(const PlanRequest& request, ParallelConfig& config) {
  for (const std::string& name : request.fixed_names) {
    const Field& field = require_field(name);
    if (!field.searched) field.copy(request.fixed, config);
  }
}

bool agrees_with_fixed(const PlanRequest& request, const ParallelConfig& config) {
  ParallelConfig given = config;
  for (const std::string& name : request.fixed_names) require_field(name).copy(request.fixed, given);
  return canonical(given) == canonical(config);
}

std::vector<std::int64_t> degree_values(const PlanRequest& request, std::string_view name, std::int64_t limit) {
  ParallelConfig probe;
  std::vector<std::int64_t> values;
  if (is_fixed(request, name)) {
    ParallelConfig given;
    require_field(std::string(name)).copy(request.fixed, given);
    for (std::int64_t v = 1; v <= limit; ++v) {
      probe.pp = probe.dpa = probe.pcp = probe.tp = probe.dcp = probe.ep = probe.moe_tp = probe.moe_dp = v;
      probe.replicas = v;
      if (require_field(std::string(name)).same(given, probe)) values.push_back(v);
    }
    return values;
  }
  values.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, limit)));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

std::vector<std::string> fixable_names() {
  std::vector<std::string> names;
  for (const Field& field : fields()) names.emplace_back(field.name);
  return names;
}

}  // namespace shardplan
