#include "hwprofiles/read_coefficients.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/suggest.h"
#include "base/units.h"

namespace shardplan {
namespace {

constexpr auto kFamilies = std::to_array<std::string_view>(
    {"gemm", "attention_prefill", "attention_decode", "grouped_gemm", "elementwise", "default"});
constexpr auto kCollectives =
    std::to_array<std::string_view>({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive",
                                     "nvls_all_reduce", "graph_all_reduce", "graph_nvls_all_reduce"});
constexpr double kMinEfficiency = 1e-6;  // anything less is a slip of the pen
constexpr Seconds kMaxFixed{1.0};

template <class Names>
void require_name(std::string_view name, const Names& names, const std::string& where) {
  for (const std::string_view known : names) {
    if (name == known) return;
  }
  throw InputError(where, "is not a known key", nearest_hint(name, {names.begin(), names.end()}));
}

Seconds short_time(JsonObject& row, std::string_view key) {
  const Seconds time = parse_seconds(row.string(key), row.where(key));
  if (time > kMaxFixed) throw InputError(row.where(key), "is longer than a second", "a latency such as \"4 us\"");
  return time;
}

// Calls read(key, row) for each row of the object `section`, and records the row's source.
template <class Read>
void for_each_row(SourcedObject& root, const char* section, Sources& sources, Read read) {
  const Json* rows = root.plain().find(section);
  if (rows == nullptr) return;
  const JsonObject all = root.plain().object(section);
  for (const std::string& key : all.unread_keys()) {
    JsonObject row = root.plain().object(section).object(key);
    sources[std::string("/") + section + "/" + key] = read_source_text(row);
    row.ignore("note");
    read(key, row);
    row.refuse_unread();
  }
}

}  // namespace

void read_kernels(SourcedObject& root, HardwareProfile& profile) {
  for_each_row(root, "kernels", profile.sources, [&](const std::string& key, JsonObject& row) {
    require_name(std::string_view(key).substr(0, key.find('.')), kFamilies, row.where());
    KernelCoefficients& kernel = profile.kernels[key];
    kernel.fixed = short_time(row, "fixed");
    kernel.compute_efficiency = row.number("compute_efficiency", kMinEfficiency, 1);
    kernel.memory_efficiency = row.number("memory_efficiency", kMinEfficiency, 1);
  });
}

void read_collectives(SourcedObject& root, HardwareProfile& profile) {
  for_each_row(root, "collectives", profile.sources, [&](const std::string& key, JsonObject& row) {
    constexpr std::string_view kInter = "inter.";
    require_name(key.starts_with(kInter) ? std::string_view(key).substr(kInter.size()) : key, kCollectives,
                 row.where());
    CollectiveCoefficients& collective = profile.collectives[key];
    collective.base = short_time(row, "base");
    collective.per_rank = short_time(row, "per_rank");
    collective.efficiency = row.number("efficiency", kMinEfficiency, 1);
    collective.half = parse_bytes(row.string("half"), row.where("half"));
    collective.ramp = row.number("ramp", 0, 1);
  });
}

}  // namespace shardplan
