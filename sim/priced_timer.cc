#include "sim/priced_timer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "sim/random.h"

namespace shardplan {
namespace {

constexpr std::size_t kCells = std::size_t{1} << 14;
constexpr std::int64_t kFinest = 16;             // positions of the smallest cells
constexpr int kCellsPerOctaveLog = 4;

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// The cell of a mean context.
Range cell_range(std::int64_t mean) {
  const int octave = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(mean))) - 1;
  const std::int64_t width = std::max(kFinest, std::int64_t{1} << std::max(0, octave - kCellsPerOctaveLog));
  const std::int64_t low = mean / width * width;
  return {.low = low, .high = low + width};
}

std::int64_t picoseconds(double seconds) { return sim_time(Seconds(seconds)).value(); }

TimeLine line_between(double at_low, double at_high, std::int64_t positions) {
  const std::int64_t base = picoseconds(at_low);
  const auto slope = static_cast<double>(picoseconds(at_high) - base) / static_cast<double>(positions);
  return {.base = SimTime(base), .slope = std::llround(slope)};
}

BatchShape decodes_of(const BatchShape& shape) { return {.decode_sequences = shape.decode_sequences, .decode_context = shape.decode_context}; }

double smooth_max(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

}  // namespace

PricedTimer::PricedTimer(const StepPricer& pricer, std::vector<StageLayers> stages, const HostTimes& host, const Speculation& speculation)
    : pricer_(pricer), stages_(std::move(stages)), host_(host), speculation_(speculation), yield_(speculation.tokens_per_step()), cells_(kCells),
      lines_(kCells * stages_.size()), seconds_(stages_.size()) {}

// Of a step of decodes only, for one token of each.
double PricedTimer::decode_seconds(const StageLayers& stage, const BatchShape& shape) const { return stage_seconds(stage, shape) / yield_; }

// Steps with prompts are never shorter than their launches, but for what of these was done behind the step before.
double PricedTimer::stage_seconds(const StageLayers& stage, const BatchShape& plain, double behind) const {
  const BatchShape shape = verifying(plain, speculation_.tokens);
  const auto layers = static_cast<double>(stage.count + (stage.is_last ? pricer_.draft_layers(shape) : 0));
  const double seconds = pricer_.stage(stage, shape).seconds.value() + host_.per_layer.value() * layers;
  if (shape.prefill_sequences == 0) return seconds;
  return smooth_max(seconds, std::max(0.0, host_.prefill_launch_per_layer.value() * layers - behind));
}

// Hops and host time: of the latency, but of no stage.
double PricedTimer::fixed_seconds(const BatchShape& shape) const {
  const double sequences = static_cast<double>(shape.sequences()) / static_cast<double>(host_.groups);
  double seconds = host_.per_step.value() + host_.per_sequence.value() * sequences;
  if (stages_.size() > 1) seconds += pricer_.hop(verifying(shape, speculation_.tokens)).value() * static_cast<double>(stages_.size() - 1);
  return seconds;
}

// What experts' products take, times how much of it grows with rows: the rest is weights, read whatever the rows.
double PricedTimer::routed_seconds(const BatchShape& plain) const {
  if (plain.tokens() == 0) return 0;
  const BatchShape shape = verifying(plain, speculation_.tokens);
  const auto grouped = [this](const BatchShape& of) {
    double seconds = 0;
    for (const StageLayers& stage : stages_) seconds += pricer_.stage(stage, of).parts[index_of(StepPart::kGrouped)];
    return seconds;
  };
  constexpr std::int64_t kPart = 8;   // a step an eighth larger
  BatchShape larger = shape;
  larger.decode_sequences += (shape.decode_sequences + kPart - 1) / kPart;
  larger.prefill_tokens += (shape.prefill_tokens + kPart - 1) / kPart;
  const double more = static_cast<double>(larger.tokens()) / static_cast<double>(shape.tokens()) - 1;
  const double now = grouped(shape);
  return std::clamp((grouped(larger) - now) / more, 0.0, now);
}

// Of the step's time as decode() and mixed() tell it.
RoutedPart PricedTimer::routed_part(const BatchShape& shape) const {
  if (host_.routing_groups == 0) return {};
  const double own = routed_seconds(decodes_of(shape)) / yield_;
  const double whole = shape.prefill_sequences == 0 ? own : std::max(own, routed_seconds(shape) - (yield_ - 1) * own);
  const double seconds = host_.decode_ratio * own + host_.prefill_ratio * (whole - own);
  return {.time = SimTime(picoseconds(seconds)), .tokens = ceil_div(verifying(shape, speculation_.tokens).tokens(), host_.routing_groups)};
}

void PricedTimer::fill(Cell& cell, TimeLine* lines) {
  BatchShape low{.decode_sequences = cell.sequences, .decode_context = static_cast<double>(cell.low)};
  BatchShape high = low;
  high.decode_context = static_cast<double>(cell.high);
  const std::int64_t positions = cell.sequences * (cell.high - cell.low);
  const double ratio = host_.decode_ratio;
  cell.routed = routed_part(low);
  cell.latency = {.base = SimTime(picoseconds(ratio * fixed_seconds(low) / yield_)), .slope = 0};
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    lines[s] = line_between(ratio * decode_seconds(stages_[s], low), ratio * decode_seconds(stages_[s], high), positions);
    cell.latency.base += lines[s].base;
    cell.latency.slope += lines[s].slope;
  }
}

DecodeTime PricedTimer::decode(std::int64_t sequences, std::int64_t context) {
  const Range range = cell_range(context / sequences);
  const std::size_t place = mix_bits(static_cast<std::uint64_t>(sequences), static_cast<std::uint64_t>(range.low)) % kCells;
  Cell& cell = cells_[place];
  TimeLine* lines = &lines_[place * stages_.size()];
  if (cell.sequences != sequences || cell.low != range.low) {
    cell = {.sequences = sequences, .low = range.low, .high = range.high};
    fill(cell, lines);
  }
  return {.low = sequences * range.low, .high = sequences * range.high, .latency = cell.latency, .routed = cell.routed, .stages = {lines, stages_.size()}};
}

void PricedTimer::add_price(const BatchShape& shape, double behind, double weight_ratio, double& fixed) {
  const bool drafts = speculation_.tokens > 0 && shape.decode_sequences > 0;
  const BatchShape decodes = decodes_of(shape);
  // The step yields more than the one token that it stands for.
  const auto beyond = [this](double seconds, double own) { return std::max(own, seconds - (yield_ - 1) * own); };
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const double seconds = stage_seconds(stages_[s], shape, behind);
    seconds_[s] += weight_ratio * (drafts ? beyond(seconds, decode_seconds(stages_[s], decodes)) : seconds);
  }
  const double host = fixed_seconds(shape);
  fixed += weight_ratio * (drafts ? beyond(host, fixed_seconds(decodes) / yield_) : host);
}

// What the decodes would take alone, and what prompts add, by their own ratios.
void PricedTimer::scale(const BatchShape& shape, double& fixed) {
  if (host_.decode_ratio == 1 && host_.prefill_ratio == 1) return;
  const BatchShape decodes = decodes_of(shape);
  const bool alone = shape.decode_sequences == 0;
  const auto scaled = [this](double whole, double own) { return host_.decode_ratio * own + host_.prefill_ratio * (whole - own); };
  for (std::size_t s = 0; s < stages_.size(); ++s) seconds_[s] = scaled(seconds_[s], alone ? 0 : decode_seconds(stages_[s], decodes));
  fixed = scaled(fixed, alone ? 0 : fixed_seconds(decodes) / yield_);
}

void PricedTimer::mixed(const StepLoad& load, MixedTime& out) {
  BatchShape shape{.decode_sequences = load.decode_sequences, .prefill_sequences = load.prompts};
  if (load.decode_sequences > 0) shape.decode_context = static_cast<double>(load.decode_context) / static_cast<double>(load.decode_sequences);
  const double pairs_per_token = static_cast<double>(load.prompt_pairs) / static_cast<double>(load.prompt_tokens);
  const std::int64_t length = load.prompt_tokens / load.prompts;
  const double beyond = static_cast<double>(load.prompt_tokens % load.prompts) / static_cast<double>(load.prompts);
  std::fill(seconds_.begin(), seconds_.end(), 0.0);
  double fixed = 0;
  for (const auto& [tokens, weight] : {std::pair(length, 1 - beyond), std::pair(length + 1, beyond)}) {
    if (weight == 0) continue;
    shape.prefill_tokens = tokens;
    shape.prefill_prefix = std::max(0.0, pairs_per_token - static_cast<double>(tokens + 1) / 2);
    add_price(shape, to_seconds(load.behind).value(), weight, fixed);
  }
  scale(shape, fixed);
  out.routed = routed_part(shape);
  out.stages.resize(stages_.size());
  out.latency = SimTime(picoseconds(fixed));
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    out.stages[s] = SimTime(picoseconds(seconds_[s]));
    out.latency += out.stages[s];
  }
}

}  // namespace shardplan
