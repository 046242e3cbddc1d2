#include "calibrate/fit/profile_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"

namespace shardplan {
namespace {

using Ordered = nlohmann::ordered_json;

// Four significant digits: more than a fit knows.
double rounded(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

double three_places(double value) { return std::stod(fmt::format("{:.3f}", value)); }

Ordered roofline_row(const FitOutcome& fit) {
  const KernelModel& model = fit.model;
  return {{"fixed", fmt::format("{:.4g} us", model.parameters[0])},
          {"compute_efficiency", rounded(model.parameters[1])},
          {"memory_efficiency", rounded(model.parameters[2])},
          {"points", model.fit.points},
          {"held_out_median", three_places(model.fit.held_out_median)},
          {"held_out_mean", three_places(model.fit.held_out_mean)},
          {"source", "fitted on " + model.fit.on + "; median and mean error of whole shapes that were held out"}};
}

Ordered row_of(const FitOutcome& fit) {
  if (fit.roofline) return roofline_row(fit);
  const KernelModel& model = fit.model;
  Ordered row;
  row["form"] = form_name(model.form);
  Ordered parameters = Ordered::object();
  const auto& specs = form_parameters(model.form);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (model.parameters[i] <= specs[i].neutral * 1.02 && specs[i].neutral <= specs[i].low * 1.5) continue;   // without effect
    parameters[std::string(specs[i].name)] = std::clamp(rounded(model.parameters[i]), specs[i].low, specs[i].high);
  }
  row["parameters"] = parameters;
  if (!model.tiles.empty()) {
    for (const TileShape& tile : model.tiles) {
      std::string text = std::to_string(tile.rows) + "x" + std::to_string(tile.columns);
      if (tile.up_to_rows > 0) text += "@" + std::to_string(static_cast<int>(tile.up_to_rows));
      row["tiles"].push_back(text);
    }
  }
  row["points"] = model.fit.points;
  row["held_out_median"] = three_places(model.fit.held_out_median);
  row["held_out_mean"] = three_places(model.fit.held_out_mean);
  const auto spread = [](const Spread& s) { return Ordered{{"p10", std::min(1.0, three_places(s.p10))}, {"p90", std::max(1.0, three_places(s.p90))}}; };
  row["spread"] = spread(model.spread);
  for (const RegimeSpread& regime : model.regimes) {
    Ordered entry{{"from", static_cast<std::int64_t>(regime.from)}};
    entry.update(spread(regime.spread));
    row["regimes"].push_back(entry);
  }
  row["source"] = "fitted on " + model.fit.on + "; median and mean error of whole shapes that were held out";
  return row;
}

// A collective's row, of five parameters from `p`.
Ordered collective_row(const FitOutcome& fit, const double* p) {
  const FitRecord& record = fit.model.fit;
  return {{"base", fmt::format("{:.4g} us", p[0])},
          {"per_rank", fmt::format("{:.4g} us", p[1])},
          {"efficiency", rounded(p[2])},
          {"half", fmt::format("{:.4g} MB", p[3])},
          {"ramp", rounded(p[4])},
          {"points", record.points},
          {"held_out_median", three_places(record.held_out_median)},
          {"held_out_mean", three_places(record.held_out_mean)},
          {"spread", {{"p10", std::min(1.0, three_places(fit.model.spread.p10))}, {"p90", std::max(1.0, three_places(fit.model.spread.p90))}}},
          {"source", "fitted on " + record.on + "; median and mean error of messages that were held out"}};
}

bool has_sourced_child(const Ordered& value) {
  if (!value.is_object()) return false;
  for (const auto& [key, child] : value.items()) {
    if (child.is_object() && (child.contains("source") || has_sourced_child(child))) return true;
  }
  return false;
}

std::string on_one_line(const Ordered& value) {
  if (value.is_object()) {
    std::string text = "{";
    for (const auto& [key, child] : value.items()) text += (text.size() > 1 ? ", " : "") + Ordered(key).dump() + ": " + on_one_line(child);
    return text + "}";
  }
  if (value.is_array()) {
    std::string text = "[";
    for (const Ordered& child : value) text += (text.size() > 1 ? ", " : "") + on_one_line(child);
    return text + "]";
  }
  return value.dump();
}

// Rows on one line each, what holds rows over several.
std::string laid_out(const Ordered& value, int depth) {
  if (!value.is_object() || value.empty() || (depth > 1 && !has_sourced_child(value))) return on_one_line(value);
  const std::string indent(static_cast<std::size_t>(2 * (depth + 1)), ' ');
  std::string text = "{\n";
  std::size_t left = value.size();
  for (const auto& [key, child] : value.items()) {
    text += indent + Ordered(key).dump() + ": " + laid_out(child, depth + 1) + (--left > 0 ? ",\n" : "\n");
  }
  return text + std::string(static_cast<std::size_t>(2 * depth), ' ') + "}";
}

}  // namespace

std::string with_rows(const std::string& text, const std::string& where, const std::vector<FitOutcome>& fits) {
  static_cast<void>(parse_json(text, where));   // refuses what the strict reader refuses
  Ordered document = Ordered::parse(text);
  if (!document.is_object()) throw InputError(where, "is not a JSON object", "a hardware document");
  for (const FitOutcome& fit : fits) {
    if (fit.collectives.empty()) document["kernels"][fit.key] = row_of(fit);
    const std::size_t at = fit.key.find('@');
    const std::string suffix = at == std::string::npos ? "" : fit.key.substr(at);
    for (std::size_t r = 0; r < fit.collectives.size(); ++r) {
      document["collectives"][fit.collectives[r] + suffix] = collective_row(fit, fit.model.parameters.data() + 5 * r);
    }
  }
  return laid_out(document, 0) + "\n";
}

}  // namespace shardplan
