#include "calibrate/records/fit_records.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/errors.h"

namespace shardplan {
namespace {

using Point = std::array<double, 3>;
using Model = std::function<double(const Record&, const Point&)>;

bool is_collective(const Record& record) { return record.field("message_bytes") > 0; }

// Row of a profile: families that have none of their own share the last.
std::string row_of(const std::string& kind) {
  for (const char* known : {"gemm", "attention_prefill", "attention_decode", "grouped_gemm", "elementwise"}) {
    if (kind == known) return kind;
  }
  return "default";
}

bool is_held_out(const Record& record) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : record.key()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return (hash >> 33) % 10 < 3;
}

double cost(const std::vector<const Record*>& records, const Model& model, const Point& point) {
  double sum = 0;
  for (const Record* r : records) sum += std::abs(std::log(model(*r, point) / r->microseconds));
  return sum;
}

// The best point of a grid around the best so far, on a logarithmic scale, three times finer each time.
Point search(const std::vector<const Record*>& records, const Model& model, Point low, Point high) {
  constexpr int kSteps = 12;
  Point best = low;
  for (int round = 0; round < 4; ++round) {
    double least = INFINITY;
    const auto at = [&](std::size_t d, int i) { return low[d] * std::pow(high[d] / low[d], static_cast<double>(i) / kSteps); };
    for (int i = 0; i <= kSteps; ++i) {
      for (int j = 0; j <= kSteps; ++j) {
        for (int k = 0; k <= kSteps; ++k) {
          const Point point{at(0, i), at(1, j), at(2, k)};
          const double here = cost(records, model, point);
          if (here >= least) continue;
          least = here;
          best = point;
        }
      }
    }
    for (std::size_t d = 0; d < 3; ++d) {
      const double reach = std::pow(high[d] / low[d], 1.0 / kSteps);
      low[d] = best[d] / reach;
      high[d] = best[d] * reach;
    }
  }
  return best;
}

struct Split {
  std::vector<const Record*> fitted, held_out;
};

Split split_of(const std::vector<const Record*>& records) {
  Split split;
  for (const Record* r : records) (is_held_out(*r) ? split.held_out : split.fitted).push_back(r);
  if (split.fitted.size() < 4) split = {records, {}};
  return split;
}

FitQuality quality_of(const Split& split, const Model& model, const Point& point) {
  const auto& judged = split.held_out.empty() ? split.fitted : split.held_out;
  double sum = 0;
  for (const Record* r : judged) sum += std::abs(model(*r, point) / r->microseconds - 1);
  return {static_cast<std::int64_t>(split.fitted.size()), static_cast<std::int64_t>(split.held_out.size()), sum / static_cast<double>(judged.size())};
}

KernelFit fit_kernel(const std::vector<const Record*>& records, double peak, double bandwidth) {
  const Split split = split_of(records);
  const Model model = [&](const Record& r, const Point& p) { return p[0] + std::max(r.flops / (peak * p[1]), r.bytes / (bandwidth * p[2])); };
  const Point best = search(split.fitted, model, {0.05, 0.001, 0.001}, {500, 1, 1});
  return {best[0], std::min(best[1], 1.0), std::min(best[2], 1.0), quality_of(split, model, best)};
}

CollectiveFit fit_collective(const std::vector<const Record*>& records, double link) {
  const Split split = split_of(records);
  const Model model = [&](const Record& r, const Point& p) {
    return p[0] + p[1] * static_cast<double>(r.field("group") - 1) + r.bytes / (link * p[2]);
  };
  const Point best = search(split.fitted, model, {0.05, 0.05, 0.001}, {500, 200, 1});
  return {best[0], best[1], std::min(best[2], 1.0), quality_of(split, model, best)};
}

}  // namespace

RecordFit fit_records(const RecordFile& file) {
  RecordFit fit;
  std::map<std::string, std::vector<const Record*>> kernels, collectives;
  for (const Record& r : file.records) {
    if (is_collective(r)) collectives[r.kind].push_back(&r);
    else kernels[row_of(r.kind)].push_back(&r);
    double& best = is_collective(r) ? fit.link_bytes_per_us : fit.bandwidth_bytes_per_us;
    best = std::max(best, r.bytes / r.microseconds);
    if (r.kind == "gemm") fit.peak_flops_per_us = std::max(fit.peak_flops_per_us, r.flops / r.microseconds);
  }
  if (fit.peak_flops_per_us <= 0) throw InputError("records", "hold no product", "what calibrate run writes");
  for (const auto& [kind, records] : kernels) fit.kernels[kind] = fit_kernel(records, fit.peak_flops_per_us, fit.bandwidth_bytes_per_us);
  for (const auto& [kind, records] : collectives) fit.collectives[kind] = fit_collective(records, fit.link_bytes_per_us);
  return fit;
}

}  // namespace shardplan
