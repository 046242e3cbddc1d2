#include "costmodel/expert_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/errors.h"
#include "base/json.h"
#include "base/quantity.h"
#include "costmodel/eplb.h"
#include "costmodel/expert_capacity.h"
#include "costmodel/rank_shares.h"
#include "costmodel/token_visits.h"

namespace shardplan {
namespace {

constexpr const char* kWhere = "--expert-load";
constexpr const char* kForms = "uniform, zipf:A with A from 0 to 10, or a JSON file with an array of counts";
constexpr double kMaxExponent = 10;
constexpr double kServedExponent = 0.8;
constexpr std::size_t kMaxCounts = 1 << 16;
constexpr double kMaxCount = 1e15;
constexpr int kTableStepsPerOctave = 4;
constexpr int kTableSize = 20 * kTableStepsPerOctave + 1;  // up to 2^20 tokens

using Popularity = std::vector<double>;

ExpertLoad parse_zipf(const std::string& text, std::string_view exponent) {
  ExpertLoad load;
  load.kind = ExpertLoad::Kind::kZipf;
  const char* end = exponent.data() + exponent.size();
  const auto [stop, error] = std::from_chars(exponent.data(), end, load.exponent_ratio);
  const bool in_range = load.exponent_ratio >= 0 && load.exponent_ratio <= kMaxExponent;  // false for NaN
  if (error != std::errc() || stop != end || !in_range)
    throw InputError(kWhere, fmt::format("bad exponent in '{}'", text), kForms);
  return load;
}

double parse_count(const Json& entry, const std::string& path, std::size_t index) {
  const std::string where = fmt::format("{}: /{}", path, index);
  if (!entry.is_number()) throw InputError(where, "is not a number", "a count");
  const double count = entry.get<double>();
  if (!(count >= 0 && count <= kMaxCount)) throw InputError(where, "is out of range", "a count from 0 to 1e15");
  return count;
}

ExpertLoad read_histogram(const std::string& path) {
  const Json json = read_json_file(path);
  const bool is_list = json.is_array() && !json.empty() && json.size() <= kMaxCounts;
  if (!is_list) throw InputError(path, "is not a list of counts", "a JSON array with one count per expert");
  ExpertLoad load;
  load.kind = ExpertLoad::Kind::kHistogram;
  for (std::size_t i = 0; i < json.size(); ++i) load.counts.push_back(parse_count(json[i], path, i));
  if (std::accumulate(load.counts.begin(), load.counts.end(), 0.0) <= 0)
    throw InputError(path, "has only zeros", "at least one positive count");
  return load;
}

// Scales `weights` so that they add up to `total` with none above 1: p_e = min(1, c*w_e).
Popularity scaled_to(Popularity weights, double total) {
  Popularity popularity(weights.size(), 0.0);
  double left = total;
  for (bool capped = true; capped;) {
    capped = false;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double scale = sum > 0 ? std::max(0.0, left) / sum : 0.0;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      if (weights[e] <= 0) continue;
      popularity[e] = std::min(1.0, scale * weights[e]);
      if (scale * weights[e] <= 1) continue;
      weights[e] = 0;  // settled at 1
      left -= 1;
      capped = true;
    }
  }
  return popularity;
}

// A fixed permutation: which experts are popular has nothing to do with the ranks they lie on.
std::vector<std::size_t> any_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t state = 0x9e3779b97f4a7c15ULL;
  for (std::size_t left = count; left > 1; --left) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(order[left - 1], order[(state >> 33) % left]);
  }
  return order;
}

Popularity weights_of(const ExpertLoad& load, std::int64_t experts) {
  if (load.kind == ExpertLoad::Kind::kHistogram) return load.counts;
  Popularity weights(static_cast<std::size_t>(experts), 1.0);
  if (load.kind == ExpertLoad::Kind::kUniform) return weights;
  const std::vector<std::size_t> order = any_order(weights.size());
  for (std::size_t e = 0; e < weights.size(); ++e)
    weights[order[e]] = std::pow(static_cast<double>(e + 1), -load.exponent_ratio);
  return weights;
}

void check_histogram(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token) {
  if (load.kind != ExpertLoad::Kind::kHistogram) return;
  if (std::ssize(load.counts) != experts) {
    throw InputError(kWhere, fmt::format("{} counts for a model with {} experts", load.counts.size(), experts),
                     "one count per expert");
  }
  const auto used = std::count_if(load.counts.begin(), load.counts.end(), [](double c) { return c > 0; });
  if (used < per_token) {
    throw InputError(kWhere, fmt::format("{} experts with a count, but a token picks {}", used, per_token),
                     "more positive counts");
  }
}

using RankSlots = std::vector<std::vector<ExpertSlot>>;

RankSlots contiguous_slots(const Popularity& popularity, std::int64_t ep) {
  RankSlots ranks;
  const std::int64_t experts = std::ssize(popularity);
  auto next = popularity.begin();
  for (std::int64_t rank = 0; rank < ep; ++rank) {
    const auto first = next;
    next += experts / ep + (rank < experts % ep ? 1 : 0);
    std::vector<ExpertSlot>& slots = ranks.emplace_back();
    std::transform(first, next, std::back_inserter(slots), [](double p) { return ExpertSlot{p, 1}; });
  }
  return ranks;
}

EplbPlacement placed(const Popularity& popularity, std::int64_t ep, std::int64_t redundant) {
  const std::int64_t slots_per_rank = ceil_div(std::ssize(popularity) + redundant, ep);
  return place_experts({.loads = popularity, .slots = slots_per_rank * ep, .ranks = ep});
}

// EPLB wants as many slots on every rank: the last redundant copies are rounded up.
RankSlots balanced_slots(const Popularity& popularity, std::int64_t ep, std::int64_t redundant) {
  const EplbPlacement placement = placed(popularity, ep, redundant);
  const std::int64_t slots_per_rank = std::ssize(placement.slot_expert) / ep;
  RankSlots ranks(static_cast<std::size_t>(ep));
  for (std::size_t slot = 0; slot < placement.slot_expert.size(); ++slot) {
    const auto expert = static_cast<std::size_t>(placement.slot_expert[slot]);
    ranks[slot / static_cast<std::size_t>(slots_per_rank)].push_back({popularity[expert], static_cast<double>(placement.replicas[expert])});
  }
  return ranks;
}

RankSlots slots_by_rank(const Popularity& popularity, std::int64_t ep, std::int64_t redundant) {
  return redundant > 0 ? balanced_slots(popularity, ep, redundant) : contiguous_slots(popularity, ep);
}

// Per rank, the popularity of each of its slots: copies of an expert share it.
std::vector<Popularity> shared_popularity(const RankSlots& slots) {
  std::vector<Popularity> ranks;
  for (const auto& rank : slots) {
    Popularity& shares = ranks.emplace_back();
    for (const ExpertSlot& slot : rank) shares.push_back(slot.popularity_ratio / slot.copies);
  }
  return ranks;
}

double share_of(const Popularity& slots) { return std::accumulate(slots.begin(), slots.end(), 0.0); }

// 1 - (1-p)^T.
double hit_ratio(double popularity, double tokens) {
  if (tokens <= 0 || popularity <= 0) return 0;
  if (popularity >= 1) return std::min(1.0, tokens);
  return -std::expm1(tokens * std::log1p(-popularity));
}

constexpr double kNoLimit = 1e300;

// Expected ceil(min(rows, most)/tile) of an expert with popularity p: sum over j, j*tile < most, of P(rows > j*tile).
double expected_tiles(double popularity, double tokens, double tile, double most = kNoLimit) {
  constexpr double kCertain = 4;    // standard deviations
  const double mean = tokens * popularity;
  const double deviation = std::sqrt(std::max(mean * (1 - popularity), 1e-12));
  double tiles = hit_ratio(popularity, tokens);
  const double certain = std::clamp(std::floor((std::min(mean, most) - kCertain * deviation) / tile), 0.0, std::ceil(most / tile) - 1);
  tiles += certain;
  for (double edge = (certain + 1) * tile; edge < std::min(mean + kCertain * deviation, most); edge += tile) {
    tiles += 0.5 * std::erfc((edge + 0.5 - mean) / deviation * 0.70710678118654752);
  }
  return tiles;
}

// --- Distinct experts hit, skewed --------------------------------------------------------------------------

// max over ranks of sum over slots of 1-(1-p)^T at T = 2^(i/4); (1-p)^(2T) is the square of (1-p)^T.
std::vector<double> busiest_hit_table(const std::vector<Popularity>& ranks) {
  std::vector<double> table(kTableSize, 0.0);
  for (const Popularity& slots : ranks) {
    std::vector<double> hits(kTableSize, 0.0);
    for (const double p : slots) {
      double miss[kTableStepsPerOctave];
      for (int i = 0; i < kTableSize; ++i) {
        double& m = miss[i % kTableStepsPerOctave];
        m = i < kTableStepsPerOctave ? 1 - hit_ratio(p, std::exp2(static_cast<double>(i) / kTableStepsPerOctave))
                                     : m * m;
        hits[static_cast<std::size_t>(i)] += 1 - m;
      }
    }
    std::transform(table.begin(), table.end(), hits.begin(), table.begin(),
                   [](double a, double b) { return std::max(a, b); });
  }
  return table;
}

double interpolated(const std::vector<double>& table, double tokens) {
  if (tokens <= 1) return std::max(0.0, tokens) * table.front();
  const double place = std::log2(tokens) * kTableStepsPerOctave;
  if (place >= kTableSize - 1) return table.back();
  const auto i = static_cast<std::size_t>(place);
  const double low = std::exp2(static_cast<double>(i) / kTableStepsPerOctave);
  const double high = std::exp2(static_cast<double>(i + 1) / kTableStepsPerOctave);
  return table[i] + (table[i + 1] - table[i]) * (tokens - low) / (high - low);
}

double capped_tiles(const CappedLoad& load, double tokens, double tile) {
  const CappedLoad::Shape& shape = load.shape();
  const auto capacity = static_cast<double>(
      expert_capacity(std::max<std::int64_t>(1, std::llround(tokens)), shape.per_token, shape.experts, shape.capacity_factor_ratio));
  double tiles = 0;
  for (const ExpertSlot& slot : load.busiest_slots(tokens)) tiles += expected_tiles(slot.popularity_ratio / slot.copies, tokens, tile, capacity / slot.copies);
  return tiles;
}

bool all_equal(const std::vector<Popularity>& ranks) {
  for (const Popularity& slots : ranks) {
    for (const double p : slots) {
      if (p != ranks.front().front()) return false;
    }
  }
  return true;
}

}  // namespace

ExpertLoad served_expert_load() { return {.kind = ExpertLoad::Kind::kZipf, .exponent_ratio = kServedExponent, .counts = {}}; }

ExpertLoad parse_expert_load(const std::string& text) {
  constexpr std::string_view kZipf = "zipf:";
  if (text == "uniform") return {};
  if (text.starts_with(kZipf)) return parse_zipf(text, std::string_view(text).substr(kZipf.size()));
  std::error_code error;
  const bool is_path =
      !text.empty() && text.find('\0') == std::string::npos && std::filesystem::is_regular_file(text, error);
  if (!is_path) throw InputError(kWhere, fmt::format("'{}' is neither a known load nor a file", text), kForms);
  return read_histogram(text);
}

ExpertLoadModel::ExpertLoadModel(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token, std::int64_t ep,
                                 std::int64_t redundant, double capacity_factor_ratio)
    : ep_(ep), per_token_(static_cast<double>(per_token)) {
  ensure(experts >= 1 && per_token >= 1 && ep >= 1 && redundant >= 0 && capacity_factor_ratio >= 0, "expert load sizes are positive");
  ensure(per_token <= experts, "a token picks distinct experts");
  check_histogram(load, experts, per_token);
  const Popularity popularity = scaled_to(weights_of(load, experts), per_token_);
  const RankSlots slots_of_experts = slots_by_rank(popularity, ep, redundant);
  const std::vector<Popularity> ranks = shared_popularity(slots_of_experts);
  for (const Popularity& slots : ranks) {
    slots_ = std::max(slots_, std::ssize(slots));
    if (share_of(slots) <= busiest_share_) continue;
    busiest_share_ = share_of(slots);
    busiest_slots_ = slots;
  }
  const TokenVisits token_visits(ranks, per_token);
  const std::vector<double> visits = token_visits.ratios();
  visit_busiest_ = *std::max_element(visits.begin(), visits.end());
  visit_mean_ = std::accumulate(visits.begin(), visits.end(), 0.0) / static_cast<double>(ep);
  uniform_ = all_equal(ranks);
  uniform_popularity_ = ranks.front().front();
  if (!uniform_) hit_table_ = busiest_hit_table(ranks);
  if (capacity_factor_ratio > 0) {
    capped_ = std::make_shared<CappedLoad>(slots_of_experts, token_visits, CappedLoad::Shape{experts, per_token, capacity_factor_ratio});
  }
}

double ExpertLoadModel::busiest_rows(double tokens) const { return capped_ ? capped_->busiest_rows(tokens) : tokens * busiest_share_; }

double ExpertLoadModel::mean_rows(double tokens) const {
  return (capped_ ? capped_->kept_rows(tokens) : tokens * per_token_) / static_cast<double>(ep_);
}

double ExpertLoadModel::dropped_ratio(double tokens) const { return capped_ ? capped_->dropped_ratio(tokens) : 0; }

std::optional<ExpertDrops> ExpertLoadModel::drops(std::int64_t tokens) const {
  return capped_ ? std::optional(capped_->drops(tokens)) : std::nullopt;
}

double ExpertLoadModel::least_kept_ratio() const { return capped_ ? capped_->least_kept_ratio() : 1; }

double ExpertLoadModel::busiest_visits_left_ratio(double tokens) const {
  return capped_ && tokens > 0 ? capped_->busiest_visits(tokens) / (tokens * visit_busiest_) : 1;
}

double ExpertLoadModel::mean_visits_left_ratio(double tokens) const {
  return capped_ && tokens > 0 ? capped_->mean_visits(tokens) / (tokens * visit_mean_) : 1;
}

double ExpertLoadModel::busiest_hits(double tokens) const {
  if (!uniform_) return interpolated(hit_table_, tokens);
  return static_cast<double>(slots_) * hit_ratio(uniform_popularity_, tokens);
}

double ExpertLoadModel::busiest_tiles(double tokens, int tile_rows) const {
  if (capped_) return capped_tiles(*capped_, tokens, tile_rows);
  if (uniform_) return static_cast<double>(slots_) * expected_tiles(uniform_popularity_, tokens, tile_rows);
  double tiles = 0;
  for (const double p : busiest_slots_) tiles += expected_tiles(p, tokens, tile_rows);
  return tiles;
}

std::vector<double> ExpertLoadModel::signature() const {
  std::vector<double> numbers{static_cast<double>(ep_), static_cast<double>(slots_), per_token_};
  if (capped_) {   // with all ranks: which one is the busiest depends on the tokens
    numbers.insert(numbers.end(), {capped_->shape().capacity_factor_ratio, static_cast<double>(capped_->shape().experts)});
    for (const auto& slots : capped_->ranks()) {
      for (const ExpertSlot& slot : slots) numbers.insert(numbers.end(), {slot.popularity_ratio, slot.copies});
    }
  }
  if (uniform_) {
    numbers.push_back(uniform_popularity_);
    return numbers;
  }
  numbers.insert(numbers.end(), busiest_slots_.begin(), busiest_slots_.end());
  numbers.insert(numbers.end(), hit_table_.begin(), hit_table_.end());
  return numbers;
}

double ExpertLoadModel::distinct_destinations() const { return visit_mean_ * static_cast<double>(ep_); }

double ExpertLoadModel::busiest_visit_ratio() const { return visit_busiest_; }

double ExpertLoadModel::mean_visit_ratio() const { return visit_mean_; }

std::int64_t ExpertLoadModel::slots_per_rank() const { return slots_; }

double ExpertLoadModel::imbalance_ratio() const { return busiest_share_ * static_cast<double>(ep_) / per_token_; }

double distinct_experts(std::int64_t experts, std::int64_t per_token, double tokens) {
  const auto all = static_cast<double>(experts);
  return all * hit_ratio(static_cast<double>(per_token) / all, tokens);
}

std::vector<std::vector<std::int64_t>> expert_slots(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token, std::int64_t ep,
                                                    std::int64_t redundant) {
  check_histogram(load, experts, per_token);
  std::vector<std::int64_t> slots(static_cast<std::size_t>(experts));
  std::iota(slots.begin(), slots.end(), std::int64_t{0});
  if (redundant > 0) slots = placed(scaled_to(weights_of(load, experts), static_cast<double>(per_token)), ep, redundant).slot_expert;
  std::vector<std::vector<std::int64_t>> ranks;
  auto next = slots.begin();
  for (std::int64_t rank = 0; rank < ep; ++rank) {   // the first ones hold one more where they do not divide
    const auto first = next;
    next += std::ssize(slots) / ep + (rank < std::ssize(slots) % ep ? 1 : 0);
    ranks.emplace_back(first, next);
  }
  return ranks;
}

std::vector<double> expert_popularity(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token) {
  check_histogram(load, experts, per_token);
  return scaled_to(weights_of(load, experts), static_cast<double>(per_token));
}

std::vector<RankShare> rank_shares(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token, std::int64_t ep,
                                   std::int64_t redundant) {
  const Popularity popularity = expert_popularity(load, experts, per_token);
  std::vector<RankShare> out;
  for (const Popularity& slots : shared_popularity(slots_by_rank(popularity, ep, redundant))) {
    RankShare& share = out.emplace_back();
    share.rows_per_token_ratio = share_of(slots);
    for (const double p : slots) share.variance_per_token_ratio += p * (1 - p);
  }
  return out;
}

}  // namespace shardplan
