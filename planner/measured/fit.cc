#include "planner/measured/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

namespace shardplan {
namespace {

constexpr double kStep = 1e-3;        // of a logarithm, for derivatives
constexpr double kMostLogStep = 0.5;  // of one iteration
constexpr double kMostLogValue = 2.5;

using TermVector = std::array<double, kTimeTerms>;

struct Parameter {
  std::size_t level = 0;
  SelectorValues of;
};

// One row of the table to fit: which parameters move which of its terms.
struct Point {
  std::size_t row = 0;
  TermVector offset{};                                // of rows that are kept
  std::vector<std::pair<std::size_t, int>> moved_by;  // term, parameter
  double weight = 1;
  bool waves = false;
};

class Fit {
 public:
  Fit(const FitPoints& points, const EngineTimesTable& start, const std::vector<std::size_t>& levels,
      const FitOptions& options)
      : points_(points), table_(start), options_(options) {
    std::erase_if(table_.rows, [&](const TimesRow& row) {
      return std::find(levels.begin(), levels.end(), row.level) != levels.end();
    });
    for (const std::size_t i : points.use) {
      if (points.priced[i].legal && points.priced[i].holds) add_point(i, levels);
    }
    weigh_groups();
    value_ = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(parameters_.size()));
  }

  EngineTimesTable run() {
    for (int i = 0; i < options_.iterations && !parameters_.empty(); ++i) {
      if (options_.predict) elsewhere_ = options_.predict(current());
      if (improve() < options_.least_log_step) break;
    }
    emit();
    return std::move(table_);
  }

 private:
  void add_point(std::size_t i, const std::vector<std::size_t>& levels) {
    Point point;
    point.row = i;
    point.waves = table_.moves_in_waves(points_.priced[i].key);
    point.offset = table_.log_ratios(points_.priced[i].key).of;
    const SelectorValues values = table_.values_of(points_.priced[i].key);
    SelectorValues of;
    for (const std::size_t level : levels) {
      if (!selection_of(table_.levels[level], values, of)) continue;
      const auto [at, added] = index_.try_emplace({level, of}, static_cast<int>(parameters_.size()));
      if (added) parameters_.push_back({level, of});
      point.moved_by.emplace_back(static_cast<std::size_t>(table_.levels[level].term), at->second);
    }
    data_.push_back(std::move(point));
  }

  void weigh_groups() {
    std::map<std::string, double> count;
    for (const Point& p : data_) ++count[kernel_group_of(p)];
    for (Point& p : data_) {
      const double n = count[kernel_group_of(p)];
      p.weight = options_.group_points / (n + options_.group_points) * (1 + 1 / options_.group_points);
    }
  }
  [[nodiscard]] std::string kernel_group_of(const Point& p) const {
    const TimesKey& k = points_.priced[p.row].key;
    return k.engine + " " + k.version + " " + k.model + " " + k.device + " " + k.dense_format + " " + k.expert_format;
  }

  [[nodiscard]] TermVector terms_of(const Point& p) const {
    TermVector out = p.offset;
    for (const auto& [term, parameter] : p.moved_by) out[term] += value_[parameter];
    return out;
  }

  struct Logs {
    double tpot = 0, ttft = 0;
  };
  [[nodiscard]] Logs logs_of(const Point& p, const TermVector& terms) const {
    const PricedRow& row = points_.priced[p.row];
    EngineTimes times = table_.times(terms, row.key.engine);
    times.waves = p.waves;
    const Quantity3 q = serve_row(row, times);
    return {std::log(q.tpot), std::log(q.ttft)};
  }

  [[nodiscard]] bool predicted_elsewhere(const Point& p) const {
    return !elsewhere_.empty() && elsewhere_[p.row].tpot > 0;
  }

  // The table as it stands, without spreads.
  [[nodiscard]] EngineTimesTable current() const {
    EngineTimesTable out = table_;
    for (const auto& [key, i] : index_) out.rows.push_back({key.first, key.second, std::exp(value_[i]), 0});
    return out;
  }

  // Adds one residual with its derivatives by term to the normal equations.
  void accumulate(const Point& p, double residual, const TermVector& by_term, double deviation) {
    const double scaled = residual / deviation;
    const double weight = p.weight / (deviation * deviation) / std::sqrt(1 + scaled * scaled);
    for (const auto& [term, i] : p.moved_by) {
      if (by_term[term] == 0) continue;
      right_[i] -= weight * by_term[term] * residual;
      for (const auto& [other, j] : p.moved_by) normal_(i, j) += weight * by_term[term] * by_term[other];
    }
  }

  void build() {
    const auto n = static_cast<Eigen::Index>(parameters_.size());
    normal_ = Eigen::MatrixXd::Zero(n, n);
    right_ = Eigen::VectorXd::Zero(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const double spread = std::max(1e-6, table_.levels[parameters_[static_cast<std::size_t>(i)].level].spread);
      const double weight = 1 / (spread * spread) / std::sqrt(1 + value_[i] * value_[i] / (spread * spread));
      normal_(i, i) += weight;
      right_[i] -= weight * value_[i];
    }
    for (const Point& p : data_) {
      const Observed& measured = points_.rows[p.row].measured;
      TermVector terms = terms_of(p);
      const Logs base = logs_of(p, terms);
      const bool elsewhere = predicted_elsewhere(p);
      const Logs seen = elsewhere ? Logs{std::log(elsewhere_[p.row].tpot), std::log(elsewhere_[p.row].ttft)} : base;
      TermVector tpot{}, ttft{};
      std::size_t done = kTimeTerms;
      for (const auto& [term, parameter] : p.moved_by) {
        if (term == done) continue;  // levels of a term follow one another
        done = term;
        terms[term] += kStep;
        const Logs moved = logs_of(p, terms);
        terms[term] -= kStep;
        tpot[term] = (moved.tpot - base.tpot) / kStep;
        ttft[term] = (moved.ttft - base.ttft) / kStep;
      }
      if (elsewhere) ttft[static_cast<std::size_t>(TimeTerm::kQueue)] = 0;
      if (measured.tpot) accumulate(p, seen.tpot - std::log(*measured.tpot), tpot, options_.tpot_deviation);
      const double deviation = elsewhere ? options_.predicted_ttft_deviation : options_.ttft_deviation;
      if (measured.ttft) accumulate(p, seen.ttft - std::log(*measured.ttft), ttft, deviation);
    }
  }

  // One Gauss-Newton step, cut where it is long; its largest part.
  double improve() {
    build();
    const Eigen::VectorXd step = normal_.ldlt().solve(right_);
    double most = 0;
    for (Eigen::Index i = 0; i < step.size(); ++i) {
      const double part = std::clamp(step[i], -kMostLogStep, kMostLogStep);
      value_[i] = std::clamp(value_[i] + part, -kMostLogValue, kMostLogValue);
      most = std::max(most, std::abs(part));
    }
    return most;
  }

  // Whether the rows of `wide` hold wherever those of `narrow` do.
  [[nodiscard]] bool contains(const Parameter& wide, const Parameter& narrow) const {
    if (table_.levels[wide.level].term != table_.levels[narrow.level].term || wide.level > narrow.level) return false;
    for (std::size_t i = 0; i < kSelectors.size(); ++i) {
      if (table_.levels[wide.level].by[i] && wide.of[i] != narrow.of[i]) return false;
    }
    return true;
  }

  void emit() {
    if (parameters_.empty()) return;
    build();
    const Eigen::MatrixXd covariance = normal_.ldlt().solve(Eigen::MatrixXd::Identity(normal_.rows(), normal_.cols()));
    for (const auto& [key, i] : index_) {
      std::vector<int> chain;
      for (const auto& [other, j] : index_) {
        if (contains(parameters_[static_cast<std::size_t>(j)], parameters_[static_cast<std::size_t>(i)]))
          chain.push_back(j);
      }
      double variance = 0;
      for (const int a : chain) {
        for (const int b : chain) variance += covariance(a, b);
      }
      table_.rows.push_back({key.first, key.second, std::exp(value_[i]), std::sqrt(std::max(0.0, variance))});
    }
  }

  const FitPoints& points_;
  EngineTimesTable table_;
  const FitOptions& options_;
  std::vector<Quantity3> elsewhere_;  // by row; empty: nothing else predicts
  std::vector<Point> data_;
  std::vector<Parameter> parameters_;
  std::map<std::pair<std::size_t, SelectorValues>, int> index_;
  Eigen::VectorXd value_;
  Eigen::MatrixXd normal_;
  Eigen::VectorXd right_;
};

constexpr std::array<const char*, 6> kDeployment{"engine", "era", "device", "model", "dense_format", "expert_format"};

// What a deployment may differ in beside its terms: kernels off their fits, its prompts, its server.
double own_spread(TimeTerm term) {
  switch (term) {
    case TimeTerm::kDecode:
      return 0.06;
    case TimeTerm::kPrefill:
      return 0.1;
    case TimeTerm::kRequest:
    case TimeTerm::kQueue:
      return 0.4;
    default:
      return term >= TimeTerm::kGemm && term <= TimeTerm::kLaunch
                 ? kKernelDeviation[static_cast<std::size_t>(term) - static_cast<std::size_t>(TimeTerm::kGemm)]
                 : 0;
  }
}

// The levels of an overlay: every term by the whole deployment, as free as `table` is unsure of it. What is known of
// the engine stays; a kernel or a release that was never fitted moves first.
std::vector<std::size_t> add_overlay_levels(EngineTimesTable& table, const TimesKey& key) {
  const SelectorValues values = table.values_of(key);
  const EngineTimes known = table.resolve(key);
  std::vector<std::size_t> levels;
  for (std::size_t t = 0; t < kTimeTerms; ++t) {
    const auto term = static_cast<TimeTerm>(t);
    TimesLevel level{term, {}, std::hypot(known.spread[t], own_spread(term)), "this deployment's own points"};
    if (level.spread < 0.02) continue;
    for (std::size_t i = 0; i < kSelectors.size(); ++i) {
      const bool named = std::find(kDeployment.begin(), kDeployment.end(), kSelectors[i]) != kDeployment.end();
      level.by[i] = named && !values[i].empty();
    }
    const auto same = std::find_if(table.levels.begin(), table.levels.end(),
                                   [&](const TimesLevel& l) { return l.term == level.term && l.by == level.by; });
    levels.push_back(static_cast<std::size_t>(same - table.levels.begin()));
    if (same == table.levels.end()) table.levels.push_back(level);
  }
  return levels;
}

}  // namespace

EngineTimesTable fit_engine_times(const FitPoints& points, const EngineTimesTable& start,
                                  const std::vector<std::size_t>& levels, const FitOptions& options) {
  return Fit(points, start, levels, options).run();
}

EngineTimesTable fit_all(const FitPoints& points, const EngineTimesTable& start, const FitOptions& options) {
  std::vector<std::size_t> levels(start.levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = i;
  EngineTimesTable fitted = fit_engine_times(points, start, levels, options);
  if (!options.predict) return fitted;
  // The closed loop's own queue, with all else as found.
  std::erase_if(levels, [&](std::size_t i) { return start.levels[i].term != TimeTerm::kQueue; });
  FitOptions closed = options;
  closed.predict = nullptr;
  return fit_engine_times(points, fitted, levels, closed);
}

EngineTimesTable fit_overlay(const FitPoints& points, const EngineTimesTable& base) {
  EngineTimesTable start = base;
  std::vector<std::size_t> levels;
  std::vector<SelectorValues> done;
  for (const std::size_t i : points.use) {
    const SelectorValues of = base.values_of(points.priced[i].key);
    if (std::find(done.begin(), done.end(), of) != done.end()) continue;  // one deployment's levels once
    done.push_back(of);
    for (const std::size_t level : add_overlay_levels(start, points.priced[i].key)) {
      if (std::find(levels.begin(), levels.end(), level) == levels.end()) levels.push_back(level);
    }
  }
  FitOptions own;
  own.group_points = 1000;  // the points are of one deployment, and the question is about it
  own.tpot_deviation = 0.04;   // rows of one deployment scatter less than groups of them
  const EngineTimesTable fitted = fit_engine_times(points, start, levels, own);
  EngineTimesTable overlay;
  overlay.is_overlay = true;
  std::sort(levels.begin(), levels.end());
  for (const std::size_t level : levels) {
    for (TimesRow row : fitted.rows) {
      if (row.level != level) continue;
      row.level = overlay.levels.size();
      overlay.rows.push_back(row);
    }
    overlay.levels.push_back(fitted.levels[level]);
  }
  return overlay;
}

}  // namespace shardplan
