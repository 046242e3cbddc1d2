#include "planner/measured/folds.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace shardplan {
namespace {

constexpr std::size_t kFolds = 5;
constexpr std::size_t kOwnRows = 4;

// A fixed permutation of n numbers: rows of a table lie in order of their sweep.
std::size_t shuffled(std::size_t i) {
  std::uint64_t x = i + 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::size_t>(x ^ (x >> 31));
}

std::string kernels_of(const TimesKey& key, const EngineTimesTable& table) {
  const SelectorValues v = table.values_of(key);
  return v[0] + " " + v[1] + " " + v[2] + " " + v[5] + " " + v[6];
}

class Folds {
 public:
  Folds(const std::vector<ServingRow>& rows, const std::vector<PricedRow>& priced, const EngineTimesTable& levels)
      : rows_(rows), priced_(priced), levels_(levels), judged_(rows.size()), is_seen_(rows.size(), 0) {
    levels_.rows.clear();
  }

  // Each name is left out in turn.
  FoldLine leave_out(const std::string& line, const std::function<std::string(std::size_t)>& name,
                     bool calibrate = false) {
    std::map<std::string, std::vector<std::size_t>> held;
    for (std::size_t i = 0; i < rows_.size(); ++i) held[name(i)].push_back(i);
    std::vector<std::vector<std::size_t>> parts;
    for (auto& [key, of] : held) parts.push_back(std::move(of));
    std::vector<char> scored(rows_.size(), 1);
    tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t p) { predict(parts[p], calibrate, scored); });
    return line_of(line, scored);
  }

  FoldLine fixed(const std::string& line, const EngineTimesTable& table) {
    const std::set<std::string> seen = kernels_seen([&](std::size_t) { return !table.rows.empty(); });
    for (std::size_t i = 0; i < rows_.size(); ++i) judge(i, table, seen);
    return line_of(line, std::vector<char>(rows_.size(), 1));
  }

  EngineTimesTable fit(const std::vector<std::size_t>& use) const { return fit_all({rows_, priced_, use}, levels_); }

 private:
  std::set<std::string> kernels_seen(const std::function<bool(std::size_t)>& trained) const {
    std::set<std::string> out;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (trained(i)) out.insert(kernels_of(priced_[i].key, levels_));
    }
    return out;
  }

  void judge(std::size_t i, const EngineTimesTable& table, const std::set<std::string>& seen) {
    if (!priced_[i].legal) return;
    const EngineTimes times = table.resolve(priced_[i].key);
    judged_[i] = {serve_row(priced_[i], times), row_spread(priced_[i], times)};
    is_seen_[i] = seen.contains(kernels_of(priced_[i].key, levels_)) ? 1 : 0;
  }

  void predict(const std::vector<std::size_t>& held, bool calibrate, std::vector<char>& scored) {
    std::vector<char> out(rows_.size(), 0);
    for (const std::size_t i : held) out[i] = 1;
    std::vector<std::size_t> use;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (out[i] == 0) use.push_back(i);
    }
    EngineTimesTable table = fit(use);
    if (calibrate) {
      std::vector<std::size_t> own = held;
      std::erase_if(own, [&](std::size_t i) { return !priced_[i].legal || !priced_[i].holds; });
      std::sort(own.begin(), own.end(), [](std::size_t a, std::size_t b) { return shuffled(a) < shuffled(b); });
      if (own.size() > kOwnRows) own.resize(kOwnRows);
      table = with_overlay(table, fit_overlay({rows_, priced_, own}, table));
      for (const std::size_t i : own) scored[i] = 0;
    }
    const std::set<std::string> seen = kernels_seen([&](std::size_t i) { return out[i] == 0; });
    for (const std::size_t i : held) judge(i, table, seen);
  }

  FoldLine line_of(const std::string& name, const std::vector<char>& scored) const {
    const auto counts = [&](std::size_t i) { return scored[i] != 0 && priced_[i].legal && priced_[i].holds; };
    return {name, errors_of(rows_, judged_, counts),
            errors_of(rows_, judged_, [&](std::size_t i) { return counts(i) && is_seen_[i] != 0; }),
            errors_of(rows_, judged_, [&](std::size_t i) { return counts(i) && is_seen_[i] == 0; })};
  }

  const std::vector<ServingRow>& rows_;
  const std::vector<PricedRow>& priced_;
  EngineTimesTable levels_;
  std::vector<Judged> judged_;
  std::vector<char> is_seen_;
};

}  // namespace

std::vector<FoldLine> fold_lines(const std::vector<ServingRow>& rows, const std::vector<PricedRow>& priced,
                                 const EngineTimesTable& levels) {
  Folds folds(rows, priced, levels);
  EngineTimesTable unfitted = levels;
  unfitted.rows.clear();
  std::vector<std::size_t> all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto group = [&](std::size_t i) { return kernel_group(rows[i]); };
  std::vector<FoldLine> out;
  out.push_back(folds.fixed("nothing fitted to serving", unfitted));
  out.push_back(folds.fixed("all rows fitted (in sample)", folds.fit(all)));
  out.push_back(
      folds.leave_out("5-fold over rows", [](std::size_t i) { return fmt::format("{}", shuffled(i) % kFolds); }));
  out.push_back(folds.leave_out("one group left out", group));
  out.push_back(folds.leave_out("one model left out", [&](std::size_t i) { return priced[i].key.model; }));
  out.push_back(folds.leave_out("one (machine, engine) left out",
                                [&](std::size_t i) { return rows[i].hardware + " " + rows[i].engine; }));
  out.push_back(folds.leave_out("group left out, then four of its rows", group, true));
  return out;
}

}  // namespace shardplan
