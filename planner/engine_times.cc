#include "planner/engine_times.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "planner/rules.h"

namespace shardplan {
namespace {

constexpr std::array<const char*, kTimeTerms> kNames{"step",
                                                     "sequence",
                                                     "layer",
                                                     "prefill_launch",
                                                     "request",
                                                     "prompt_token",
                                                     "gemm",
                                                     "gemm_bf16",
                                                     "grouped",
                                                     "grouped_fixed",
                                                     "attention_prefill",
                                                     "attention_decode",
                                                     "elementwise",
                                                     "scan",
                                                     "collective",
                                                     "launch",
                                                     "prefill_product",
                                                     "prefill_elementwise",
                                                     "decode",
                                                     "prefill",
                                                     "queue",
                                                     "hand_over"};

// nullptr where the version is no number.
const EngineEra* era_of(const std::vector<EngineEra>& eras, const TimesKey& key) {
  const std::string& text = key.version;
  if (text.empty() || text.front() < '0' || text.front() > '9') return nullptr;
  const Version version = parse_version(text);
  for (const EngineEra& era : eras) {
    if (era.engine == key.engine && (era.until.empty() || version < parse_version(era.until))) return &era;
  }
  return nullptr;
}

// "blackwell-ultra" runs the kernels of "blackwell".
std::string generation(const std::string& architecture) { return architecture.substr(0, architecture.find('-')); }

}  // namespace

const char* name_of(TimeTerm term) { return kNames[static_cast<std::size_t>(term)]; }

bool is_time(TimeTerm term) {
  return std::any_of(kHostTerms.begin(), kHostTerms.end(), [term](const HostTerm& host) { return host.term == term; });
}

bool selection_of(const TimesLevel& level, const SelectorValues& values, SelectorValues& out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = level.by[i] ? values[i] : "";
    if (level.by[i] && values[i].empty()) return false;
  }
  return true;
}

EngineTimesTable with_overlay(EngineTimesTable base, const EngineTimesTable& overlay) {
  std::vector<std::size_t> place;
  for (const TimesLevel& level : overlay.levels) {
    std::size_t at = 0;
    while (at < base.levels.size() && (base.levels[at].term != level.term || base.levels[at].by != level.by)) ++at;
    if (at == base.levels.size()) base.levels.push_back(level);
    place.push_back(at);
  }
  for (TimesRow row : overlay.rows) {
    row.level = place[row.level];
    std::erase_if(base.rows, [&](const TimesRow& own) { return own.level == row.level && own.of == row.of; });
    base.rows.push_back(row);
  }
  return base;
}

SelectorValues EngineTimesTable::values_of(const TimesKey& key) const {
  const std::string engine = key.engine == "neutral" ? "" : key.engine;
  const EngineEra* era = era_of(eras, key);
  return {engine,    era != nullptr ? era->name : "", generation(key.architecture), key.device,
          key.model, key.dense_format,                key.expert_format};
}

EngineTimes EngineTimesTable::times(const std::array<double, kTimeTerms>& log_ratio, const std::string& engine) const {
  std::array<double, kTimeTerms> of{};
  for (std::size_t i = 0; i < kTimeTerms; ++i) of[i] = prior[i] * std::exp(log_ratio[i]);
  const auto at = [&](TimeTerm term) { return of[static_cast<std::size_t>(term)]; };
  EngineTimes out;
  for (const HostTerm& host : kHostTerms) out.host.*host.of = Seconds(at(host.term));
  for (std::size_t part = 0; part < kStepParts; ++part) {
    out.factors.of[part] = of[static_cast<std::size_t>(TimeTerm::kGemm) + part];
  }
  out.factors.prefill_product = at(TimeTerm::kPrefillProduct);
  out.factors.prefill_elementwise = at(TimeTerm::kPrefillElementwise);
  out.decode_ratio = at(TimeTerm::kDecode);
  out.prefill_ratio = at(TimeTerm::kPrefill);
  out.queue_ratio = at(TimeTerm::kQueue);
  for (const std::string& name : prefill_first) out.prefill_first = out.prefill_first || name == engine;
  return out;
}

// Levels of a term stand from the general to the special. A row's spread is that of the product so far, so it replaces
// what the levels before it say; a level without a row adds its own.
EngineTimesTable::LogRatios EngineTimesTable::log_ratios(const TimesKey& key) const {
  const SelectorValues values = values_of(key);
  LogRatios out;
  SelectorValues wanted;
  std::vector<const TimesRow*> found(levels.size(), nullptr);
  for (const TimesRow& row : rows) {
    if (selection_of(levels[row.level], values, wanted) && wanted == row.of) found[row.level] = &row;
  }
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const auto term = static_cast<std::size_t>(levels[l].term);
    if (found[l] == nullptr) {
      out.variance[term] += levels[l].spread * levels[l].spread;
      out.unseen[term] = true;
      continue;
    }
    out.of[term] += std::log(found[l]->value);
    out.variance[term] = found[l]->spread * found[l]->spread;
  }
  return out;
}

EngineTimes EngineTimesTable::resolve(const TimesKey& key) const {
  static_assert(
      static_cast<std::size_t>(TimeTerm::kGemm) + kStepParts == static_cast<std::size_t>(TimeTerm::kPrefillProduct),
      "terms of parts follow the order of StepPart");
  const LogRatios ratios = log_ratios(key);
  EngineTimes out = times(ratios.of, key.engine);
  for (std::size_t i = 0; i < kTimeTerms; ++i) out.spread[i] = std::sqrt(ratios.variance[i]);
  out.unseen = ratios.unseen;
  out.waves = moves_in_waves(key);
  return out;
}

bool EngineTimesTable::moves_in_waves(const TimesKey& key) const {
  const EngineEra* era = era_of(eras, key);
  return era != nullptr && era->waves;
}

}  // namespace shardplan
