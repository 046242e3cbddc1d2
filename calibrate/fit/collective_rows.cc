#include "calibrate/fit/collective_rows.h"

#include <numeric>

namespace shardplan {

RowParameters row_parameters(const CollectiveCoefficients& row) {
  return {row.base.value() * 1e6, row.per_rank.value() * 1e6, row.efficiency,
          static_cast<double>(row.half.value()) * 1e-6, row.ramp};
}

CollectiveCoefficients row_with(const double* parameters) {
  CollectiveCoefficients row;
  row.base = Seconds(parameters[0] * kMicro);
  row.per_rank = Seconds(parameters[1] * kMicro);
  row.efficiency = parameters[2];
  row.half = Bytes(static_cast<std::int64_t>(parameters[3] * 1e6));
  row.ramp = parameters[4];
  return row;
}

const GroupLinks& PricedCollectives::links(int ranks) {
  const auto found = links_.find(ranks);
  if (found != links_.end()) return found->second;
  std::vector<int> group(static_cast<std::size_t>(ranks));
  std::iota(group.begin(), group.end(), 0);
  return links_.emplace(ranks, Fabric(profile_, ranks).links(group)).first->second;
}

void PricedCollectives::add(const CollectiveSample& sample) {
  samples_.push_back(sample);
  links(sample.ranks);
}

double PricedCollectives::predicted_us(std::size_t sample, const std::vector<std::string>& rows,
                                       const double* parameters) {
  for (const std::string& row : rows) {
    profile_.collectives[row] = row_with(parameters);
    parameters += RowParameters().size();
  }
  const CollectiveSample& s = samples_[sample];
  const CollectiveRequest request{.kind = kind_,
                                  .message_bytes = s.message_bytes,
                                  .sent_bytes = s.sent_bytes,
                                  .graph_captured = graph_,
                                  .source = {},
                                  .token_bytes = s.token_bytes,
                                  .experts_per_token = s.experts_per_token};
  return price_collective(request, links_.at(s.ranks), profile_, PriceMode::kCalibrated).time.value() * 1e6;
}

}  // namespace shardplan
