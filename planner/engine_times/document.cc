// Reading and writing the document of engine times.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"
#include "base/suggest.h"
#include "base/units.h"
#include "planner/engine_times.h"

namespace shardplan {
namespace {

constexpr const char* kSchema = "shardplan.engine_times/1";
constexpr double kLeastRatio = 1e-3;
constexpr double kMostRatio = 1e3;
constexpr double kMostSpread = 5;
constexpr double kMostSeconds = 10;

TimeTerm term_named(const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < kTimeTerms; ++i) {
    known.emplace_back(name_of(static_cast<TimeTerm>(i)));
    if (known.back() == name) return static_cast<TimeTerm>(i);
  }
  throw InputError(where, "'" + name + "' is no term", nearest_hint(name, known));
}

std::size_t selector_named(const std::string& name, const std::string& where) {
  const auto* const found = std::find(kSelectors.begin(), kSelectors.end(), name);
  if (found != kSelectors.end()) return static_cast<std::size_t>(found - kSelectors.begin());
  throw InputError(where, "'" + name + "' selects nothing", nearest_hint(name, {kSelectors.begin(), kSelectors.end()}));
}

void read_priors(JsonObject& root, EngineTimesTable& table) {
  table.prior.fill(1);
  const HostCost host;
  for (const HostTerm& term : kHostTerms) table.prior[static_cast<std::size_t>(term.term)] = std::max(1e-9, (host.*term.of).value());
  if (!root.has("priors")) return;
  JsonObject priors = root.object("priors");
  for (const std::string& name : priors.unread_keys()) {
    const TimeTerm term = term_named(name, priors.where(name));
    JsonObject prior = priors.object(name);
    double& value = table.prior[static_cast<std::size_t>(term)];
    if (is_time(term)) {
      value = parse_seconds(prior.string("value"), prior.where("value")).value();
      if (value <= 0 || value > kMostSeconds)
        throw InputError(prior.where("value"), "is no time of a step", "more than 0, at most 10 s");
    } else {
      value = prior.number("value", kLeastRatio, kMostRatio);
    }
    table.prior_source[static_cast<std::size_t>(term)] = prior.string_or("source", "");
    prior.refuse_unread();
  }
}

void read_levels(JsonObject& root, EngineTimesTable& table) {
  for (JsonObject& level : root.objects("levels")) {
    TimesLevel out;
    out.term = term_named(level.string("term"), level.where("term"));
    for (const std::string& name : level.strings("by")) out.by[selector_named(name, level.where("by"))] = true;
    out.spread = level.number("spread", 0, kMostSpread);
    out.mechanism = level.string("mechanism");
    level.refuse_unread();
    table.levels.push_back(std::move(out));
  }
}

TimesRow read_row(JsonObject& row, const EngineTimesTable& table) {
  TimesRow out;
  const TimeTerm term = term_named(row.string("term"), row.where("term"));
  std::array<bool, kSelectors.size()> by{};
  for (std::size_t i = 0; i < kSelectors.size(); ++i) {
    by[i] = row.has(kSelectors[i]);
    if (by[i]) out.of[i] = row.string(kSelectors[i]);
  }
  out.value = row.number("value", kLeastRatio, kMostRatio);
  out.spread = row.number("spread", 0, kMostSpread);
  row.refuse_unread();
  const auto level = std::find_if(table.levels.begin(), table.levels.end(),
                                  [&](const TimesLevel& l) { return l.term == term && l.by == by; });
  if (level == table.levels.end())
    throw InputError(row.where(), "selects by what no level does", "the selectors of a level of its term");
  out.level = static_cast<std::size_t>(level - table.levels.begin());
  return out;
}

std::string time_text(double seconds) { return fmt::format("{:.4g} us", seconds * 1e6); }

using Ordered = nlohmann::ordered_json;

// What an overlay leaves to the table it is added to.
void write_basis(const EngineTimesTable& table, Ordered& out) {
  for (std::size_t i = 0; i < kTimeTerms; ++i) {
    const auto term = static_cast<TimeTerm>(i);
    if (table.prior[i] == 1 && !is_time(term)) continue;
    out["priors"][name_of(term)]["value"] =
        is_time(term) ? Ordered(time_text(table.prior[i])) : Ordered(table.prior[i]);
    if (!table.prior_source[i].empty()) out["priors"][name_of(term)]["source"] = table.prior_source[i];
  }
  for (const EngineEra& era : table.eras) {
    Ordered e{{"engine", era.engine}, {"name", era.name}};
    if (!era.until.empty()) e["until"] = era.until;
    if (era.waves) e["waves"] = true;
    out["eras"].push_back(e);
  }
  out["prefill_first"] = table.prefill_first;
}

}  // namespace

EngineTimesTable read_engine_times(std::string_view json, const std::string& where) {
  const Json document = parse_json(json, where);
  JsonObject root(document, where);
  if (root.string("schema") != kSchema) throw InputError(root.where("schema"), "is not that of engine times", kSchema);
  EngineTimesTable table;
  root.ignore("fitted_on");
  table.is_overlay = !root.has("priors");
  read_priors(root, table);
  for (JsonObject& era : root.objects("eras")) {
    table.eras.push_back({era.string("engine"), era.string("name"), era.string_or("until", ""), era.boolean_or("waves", false)});
    era.ignore("source");
    era.refuse_unread();
  }
  table.prefill_first = root.strings("prefill_first");
  read_levels(root, table);
  for (JsonObject& row : root.objects("rows")) table.rows.push_back(read_row(row, table));
  root.refuse_unread();
  return table;
}

std::string engine_times_text(const EngineTimesTable& table, const std::string& fitted_on) {
  Ordered out{{"schema", kSchema}, {"fitted_on", fitted_on}};
  if (!table.is_overlay) write_basis(table, out);
  out["levels"] = Ordered::array();
  for (const TimesLevel& level : table.levels) {
    Ordered by = Ordered::array();
    for (std::size_t i = 0; i < kSelectors.size(); ++i) {
      if (level.by[i]) by.push_back(kSelectors[i]);
    }
    out["levels"].push_back(
        {{"term", name_of(level.term)}, {"by", by}, {"spread", level.spread}, {"mechanism", level.mechanism}});
  }
  out["rows"] = Ordered::array();
  for (const TimesRow& row : table.rows) {
    Ordered r{{"term", name_of(table.levels[row.level].term)}};
    for (std::size_t i = 0; i < kSelectors.size(); ++i) {
      if (table.levels[row.level].by[i]) r[std::string(kSelectors[i])] = row.of[i];
    }
    r["value"] = std::stod(fmt::format("{:.4g}", row.value));
    r["spread"] = std::stod(fmt::format("{:.3g}", row.spread));
    out["rows"].push_back(r);
  }
  return out.dump(1) + "\n";
}

}  // namespace shardplan
