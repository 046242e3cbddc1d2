// What an engine adds to the kernels, as data: host time, launch gaps, factors on kernels that are not the profile's.
//
//   step    = sum of parts x factors + layers x `layer` + sequences x `sequence` + `step`
//   a step with prompts is at least layers x `prefill_launch` (a smooth maximum): its launches are not captured
//   pools:    `hand_over` between a prompt's last step and the start of its cache's way
//   TTFT   += `request` + isl x `prompt_token`                  (the server path before the engine sees a request)
//
// A term's value is a product over *levels*: the prior of the term, times one ratio for each level (by engine, by era
// of the engine's versions, by architecture, by weight format, ...) that has a row for the deployment asked about. A
// level without a row counts as 1 and widens the interval by the level's spread, so an engine, version or kernel that
// was never fitted gets the mean of those that were, less surely. Rows are fitted with the levels' spreads as priors
// (planner/measured/fit.h); a user's own overlay is more rows of the same document.
// Source of the shipped rows: the document itself, planner/engine_times/shipped.json.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "costmodel/step_parts.h"

namespace shardplan {

// What one step costs the host beside the kernels, and what a request costs before its first step.
struct HostCost {
  Seconds per_step{0.6e-3};                  // scheduler and launch work that is not hidden
  Seconds per_sequence{12e-6};               // sampling, detokenisation, block tables
  Seconds per_layer{3e-6};                   // small kernels and gaps that are not in the graph
  Seconds first_token{20e-3};                // server path of a request: tokenise, queue, stream
  Seconds per_prompt_token{0};               // of the server path; the search adds isl of them to first_token
  Seconds hand_over{100e-3};                 // to the decode pool before the cache moves: router, second server, handshake
  Seconds prefill_launch_per_layer{200e-6};  // a step with prefill is never shorter: launches are not captured
};

enum class TimeTerm : std::uint8_t {
  kStep,
  kSequence,
  kLayer,
  kPrefillLaunch,
  kRequest,
  kPromptToken,
  kGemm,
  kGemmBf16,
  kGrouped,
  kGroupedFixed,
  kAttentionPrefill,
  kAttentionDecode,
  kElementwise,
  kScan,
  kCollective,
  kLaunch,
  kPrefillProduct,
  kPrefillElementwise,
  kDecode,   // on every part of a decode step: what a user's own points say of the whole
  kPrefill,  // likewise on what prompts add
  kQueue,    // on the part of TTFT spent behind other prompts
  kHandOver,
};
inline constexpr std::size_t kTimeTerms = 22;
[[nodiscard]] const char* name_of(TimeTerm term);
[[nodiscard]] bool is_time(TimeTerm term);  // its prior is a time; all others are ratios

// The terms that are times, and where they stand in a host's cost.
struct HostTerm {
  TimeTerm term;
  Seconds HostCost::*of;
};
inline constexpr std::array<HostTerm, 7> kHostTerms{{{TimeTerm::kStep, &HostCost::per_step},
                                                     {TimeTerm::kSequence, &HostCost::per_sequence},
                                                     {TimeTerm::kLayer, &HostCost::per_layer},
                                                     {TimeTerm::kPrefillLaunch, &HostCost::prefill_launch_per_layer},
                                                     {TimeTerm::kRequest, &HostCost::first_token},
                                                     {TimeTerm::kPromptToken, &HostCost::per_prompt_token},
                                                     {TimeTerm::kHandOver, &HostCost::hand_over}}};

// What rows may select by. Empty fields of a row match everything.
struct TimesKey {
  std::string engine;         // "vllm"; "" or "neutral": none
  std::string version;        // as given; may be empty or no number
  std::string architecture;   // "hopper", "blackwell": of the device, its refreshes included
  std::string device;         // "H100-SXM5-80GB"
  std::string model;          // catalog name
  std::string dense_format;   // of most projections
  std::string expert_format;  // of the routed experts; "" without
};
inline constexpr std::array<std::string_view, 7> kSelectors{"engine", "era",          "architecture", "device",
                                                            "model",  "dense_format", "expert_format"};
using SelectorValues = std::array<std::string, kSelectors.size()>;  // "" where a row does not select

struct TimesLevel {
  TimeTerm term = TimeTerm::kStep;
  std::array<bool, kSelectors.size()> by{};
  double spread = 0;  // of the logarithm: how far rows of this level lie apart
  std::string mechanism;
};

struct TimesRow {
  std::size_t level = 0;
  SelectorValues of;
  double value = 1;   // a ratio
  double spread = 0;  // of the logarithm of the product down to this level: how sure
};

struct EngineEra {
  std::string engine;
  std::string name;   // "1.0"
  std::string until;  // first version that is not of it; "": none
  bool waves = false;  // requests of equal lengths that start together stay together
};

// All terms of one deployment.
struct EngineTimes {
  HostCost host;
  StepFactors factors;
  double decode_ratio = 1;
  double prefill_ratio = 1;
  double queue_ratio = 1;
  bool prefill_first = false;               // prompts have steps of their own, which running requests wait for
  bool waves = false;                       // of the era
  std::array<double, kTimeTerms> spread{};  // of each term's logarithm
  std::array<bool, kTimeTerms> unseen{};    // a level has no row: these kernels were never seen under this engine
};

struct EngineTimesTable {
  std::array<double, kTimeTerms> prior{};  // seconds, or ratios
  std::array<std::string, kTimeTerms> prior_source;
  std::vector<EngineEra> eras;             // of each engine, oldest first
  std::vector<std::string> prefill_first;  // engines
  std::vector<TimesLevel> levels;
  std::vector<TimesRow> rows;
  bool is_overlay = false;                    // levels and rows alone, to be added to another table

  // The selector values of a key; a version that is no number has the era "".
  [[nodiscard]] SelectorValues values_of(const TimesKey& key) const;
  [[nodiscard]] EngineTimes resolve(const TimesKey& key) const;
  // Logarithm of each term's ratio to its prior, and the variance of it.
  struct LogRatios {
    std::array<double, kTimeTerms> of{};
    std::array<double, kTimeTerms> variance{};
    std::array<bool, kTimeTerms> unseen{};   // some level of the term has no row
  };
  [[nodiscard]] LogRatios log_ratios(const TimesKey& key) const;
  // The same from the logarithm of each term's ratio to its prior.
  [[nodiscard]] EngineTimes times(const std::array<double, kTimeTerms>& log_ratio, const std::string& engine) const;
  [[nodiscard]] bool moves_in_waves(const TimesKey& key) const;
};

// `base` with the levels and rows of `overlay` after its own.
[[nodiscard]] EngineTimesTable with_overlay(EngineTimesTable base, const EngineTimesTable& overlay);

// The rows that a level has for `values`: those selectors that it goes by. False where one of them is empty.
[[nodiscard]] bool selection_of(const TimesLevel& level, const SelectorValues& values, SelectorValues& out);

// Reads a document of the schema engine_times/1; strict, `where` names it in errors.
[[nodiscard]] EngineTimesTable read_engine_times(std::string_view json, const std::string& where);
[[nodiscard]] std::string engine_times_text(const EngineTimesTable& table, const std::string& fitted_on);
// Compiled in.
[[nodiscard]] const EngineTimesTable& shipped_engine_times();

}  // namespace shardplan
