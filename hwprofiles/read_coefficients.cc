#include "hwprofiles/read_coefficients.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/suggest.h"
#include "base/units.h"

namespace shardplan {
namespace {

constexpr auto kFamilies = std::to_array<std::string_view>(
    {"gemm", "attention_prefill", "attention_decode", "grouped_gemm", "elementwise", "cache_write", "sampling", "scan", "default"});
constexpr auto kCollectives =
    std::to_array<std::string_view>({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive",
                                     "nvls_all_reduce", "graph_all_reduce", "graph_nvls_all_reduce", "ll_all_gather", "ll_reduce_scatter", "ll_all_to_all",
                                     "dispatch", "combine", "ll_dispatch", "ll_combine"});
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

TileShape read_tile(const std::string& text, const std::string& where) {
  TileShape tile;
  const auto number = [&](std::string_view part, int& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size() && value > 0 && value <= 65536;
  };
  const std::string_view all = text;
  const std::size_t at = all.find('@');
  const std::string_view shape = all.substr(0, at);
  const std::size_t cross = shape.find('x');
  int up_to = 0;
  const bool sound = cross != std::string_view::npos && number(shape.substr(0, cross), tile.rows) && number(shape.substr(cross + 1), tile.columns) &&
                     (at == std::string_view::npos || number(all.substr(at + 1), up_to));
  if (!sound) throw InputError(where, "is not a tile: \"" + text + "\"", "ROWSxCOLUMNS, with @ROWS where it is taken up to so many rows");
  tile.up_to_rows = up_to;
  return tile;
}

Spread read_spread(JsonObject& object, double widened) {
  constexpr double kMost = 100;
  const double p10 = object.number("p10", 1 / kMost, 1);
  const double p90 = object.number("p90", 1, kMost);
  const auto wider = [&](double ratio) { return std::exp(std::copysign(std::hypot(std::log(ratio), std::log(widened)), std::log(ratio))); };
  return {std::min(wider(p10), 1 / widened), std::max(wider(p90), widened)};
}

// What a model loses when it is carried to a device it was not fitted on: the relative spread of devices of one generation
// around datasheet ratios. An estimate.
constexpr double kTransferSpread = 1.25;

KernelModel read_model(JsonObject& row) {
  KernelModel model;
  const std::string form = row.string("form");
  const KernelForm* known = find_form(form);
  if (known == nullptr) throw InputError(row.where("form"), "\"" + form + "\" is not a known form", nearest_hint(form, form_names()));
  model.form = *known;
  JsonObject parameters = row.object("parameters");
  std::vector<std::string_view> names;
  for (const ParameterSpec& spec : form_parameters(model.form)) {
    model.parameters.push_back(parameters.number_or(spec.name, spec.neutral, spec.low * (1 - 1e-6), spec.high * (1 + 1e-6)));
    names.push_back(spec.name);
  }
  parameters.refuse_unread(names);
  for (const std::string& text : row.strings("tiles")) model.tiles.push_back(read_tile(text, row.where("tiles")));
  if (model.form == KernelForm::kTileGemm && model.tiles.empty()) throw InputError(row.where("tiles"), "is missing", R"(["128x128", ...])");
  model.transferred_from = row.string_or("transferred_from", "");
  const double widened = model.transferred_from.empty() ? 1 : kTransferSpread;
  model.fit.points = row.integer_or("points", 0, 0, 1'000'000'000);
  model.fit.held_out_median = row.number_or("held_out_median", 0, 0, 100);
  model.fit.held_out_mean = row.number_or("held_out_mean", 0, 0, 100);
  if (auto spread = row.object_if("spread")) model.spread = read_spread(*spread, widened);
  for (JsonObject& regime : row.objects("regimes")) model.regimes.push_back({regime.number("from", 0, 1e18), read_spread(regime, widened)});
  return model;
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

double parameter(const KernelModel& model, std::string_view name) {
  const auto& specs = form_parameters(model.form);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return model.parameters[i];
  }
  return 1;
}

// "attention_decode.bf16" of "attention_decode.bf16.d128.window".
std::string family_and_format(const std::string& key) {
  const std::size_t format = key.find('.') + 1;
  return key.substr(0, key.find_first_of(".@", format));
}

// The roofline that no model of a family and format beats: for bounds, and for operations without a form of their own.
void add_rooflines(HardwareProfile& profile) {
  std::map<std::string, KernelCoefficients> least;
  for (const auto& [key, model] : profile.kernel_models) {
    const auto [row, fresh] = least.try_emplace(family_and_format(key), KernelCoefficients{kMaxFixed, 0, 0});
    KernelCoefficients& c = row->second;
    c.fixed = std::min(c.fixed, Seconds(model.parameters.front() * kMicro));
    c.compute_efficiency = std::max(c.compute_efficiency, parameter(model, model.form == KernelForm::kDecodeAttention ? "ecta" : "ec"));
    c.memory_efficiency = std::max(c.memory_efficiency, parameter(model, "em"));
  }
  for (const auto& [key, row] : least) profile.kernels[key] = row;
}

}  // namespace

void read_kernels(SourcedObject& root, HardwareProfile& profile) {
  for_each_row(root, "kernels", profile.sources, [&](const std::string& key, JsonObject& row) {
    require_name(std::string_view(key).substr(0, key.find('.')), kFamilies, row.where());
    if (row.has("form")) {
      KernelModel& model = profile.kernel_models[key];
      model = read_model(row);
      model.key = key;
      model.fit.on = profile.sources["/kernels/" + key];
      return;
    }
    for (const char* known : {"transferred_from", "points", "held_out_median", "held_out_mean"}) row.ignore(known);
    KernelCoefficients& kernel = profile.kernels[key];
    kernel.fixed = short_time(row, "fixed");
    kernel.compute_efficiency = row.number("compute_efficiency", kMinEfficiency, 1);
    kernel.memory_efficiency = row.number("memory_efficiency", kMinEfficiency, 1);
  });
  add_rooflines(profile);
}

void read_collectives(SourcedObject& root, HardwareProfile& profile) {
  for_each_row(root, "collectives", profile.sources, [&](const std::string& key, JsonObject& row) {
    constexpr std::string_view kInter = "inter.";
    const std::string_view kind = key.starts_with(kInter) ? std::string_view(key).substr(kInter.size()) : key;
    require_name(kind.substr(0, kind.find('@')), kCollectives, row.where());
    CollectiveCoefficients& collective = profile.collectives[key];
    collective.base = short_time(row, "base");
    collective.per_rank = short_time(row, "per_rank");
    collective.efficiency = row.number("efficiency", kMinEfficiency, 1);
    collective.half = parse_bytes(row.string("half"), row.where("half"));
    collective.ramp = row.number("ramp", 0, 1);
    const std::string from = row.string_or("transferred_from", "");
    if (auto spread = row.object_if("spread")) collective.spread = read_spread(*spread, from.empty() ? 1 : kTransferSpread);
    collective.fit = {profile.sources["/collectives/" + key], row.integer_or("points", 0, 0, 1'000'000'000), row.number_or("held_out_median", 0, 0, 100),
                      row.number_or("held_out_mean", 0, 0, 100)};
  });
}

}  // namespace shardplan
