// DeepEP's dispatch and combine: the price of the profile's own rows, with the parameters that are being fitted.
#include <array>
#include <cmath>
#include <memory>

#include "calibrate/fit/kernel_samples.h"
#include "costmodel/collectives/collective.h"
#include "hwprofiles/fabric.h"

namespace shardplan {
namespace {

constexpr double kLeastProcessors = 20;  // that engines give to the normal kernels
constexpr double kScaled = 1 + 4.0 / 128;  // bytes of a value in fp8 with a scale for 128
constexpr double kHeader = 16;             // of a token in a low-latency buffer
constexpr std::array<double, 5> kStart{25, 0, 0.6, 0.01, 0.1};

struct Samples {
  HardwareProfile profile;           // its rows are overwritten by each trial: one thread per fit
  std::map<int, GroupLinks> links;   // by ranks
  std::vector<std::pair<int, CollectiveRequest>> all;
};

// A dispatch in fp8 or a combine in bf16, all ranks with as many tokens and all experts as busy. A row of zero cost stands
// for the kind that did not run.
CollectiveRequest request_of(const MeasuredTable& table, const Measurement& cell, bool dispatch, bool low_latency, int ranks) {
  const double hidden = table.number(cell.row, "hidden_size");
  const double per_token = table.number(cell.row, "num_topk");
  const double row = dispatch ? kScaled * hidden + (low_latency ? kHeader : 0) : 2 * hidden;
  const double others = 1 - 1.0 / ranks;
  const double visits = ranks * (1 - std::pow(others, per_token));
  return {.kind = dispatch ? CollectiveKind::kDispatch : CollectiveKind::kCombine,
          .message_bytes = cell.swept * visits * row,
          .sent_bytes = cell.swept * visits * row * others,
          .graph_captured = false,
          .source = {},
          .token_bytes = cell.swept * row,
          .experts_per_token = per_token};
}

double predicted_us(Samples& samples, const std::string& row, const std::string& other, std::size_t i, const double* p) {
  CollectiveCoefficients& coefficients = samples.profile.collectives[row];
  coefficients.base = Seconds(p[0] * kMicro);
  coefficients.per_rank = Seconds(p[1] * kMicro);
  coefficients.efficiency = p[2];
  coefficients.half = Bytes(static_cast<std::int64_t>(p[3] * 1e6));
  coefficients.ramp = p[4];
  samples.profile.collectives[other].base = Seconds(1);   // the kind that did not run
  const auto& [ranks, request] = samples.all[i];
  return price_collective(request, samples.links.at(ranks), samples.profile, PriceMode::kCalibrated).time.value() * 1e6;
}

}  // namespace

std::vector<FitInput> exchange_inputs(const MeasuredTable& table, const HardwareProfile& hardware, bool across) {
  if (table.table.find("deepep") == std::string::npos) return {};
  const bool low_latency = table.table.find("_ll_") != std::string::npos;
  std::vector<FitInput> out;
  for (const bool dispatch : {true, false}) {
    const auto samples = std::make_shared<Samples>();
    samples->profile = hardware;
    FitInput input;
    for (std::size_t c = dispatch ? 0 : 1; c < table.cells.size(); c += 2) {
      const Measurement& cell = table.cells[c];
      const auto nodes = static_cast<int>(table.number(cell.row, "node_num"));
      if ((nodes > 1) != across) continue;
      if (!low_latency && table.number(cell.row, "dispatch_sms") < kLeastProcessors) {
        ++input.dropped["fewer multiprocessors than engines give it"];
        continue;
      }
      const int ranks = hardware.node.devices * nodes;
      if (!samples->links.contains(ranks)) {
        std::vector<int> group;
        for (int rank = 0; rank < ranks; ++rank) group.push_back(rank);
        samples->links.emplace(ranks, Fabric(hardware, ranks).links(group));
      }
      const CollectiveRequest request = request_of(table, cell, dispatch, low_latency, ranks);
      samples->all.emplace_back(ranks, request);
      add_sample(input, table, cell, hash_of({request.token_bytes, request.experts_per_token, static_cast<double>(ranks)}), request.token_bytes);
    }
    if (samples->all.empty()) continue;
    const std::string place = across ? "inter." : "";
    const std::string name = dispatch ? "dispatch" : "combine";
    const std::string other = place + (low_latency ? "" : "ll_") + name;
    input.key = place + (low_latency ? "ll_" : "") + name;
    input.collectives = {input.key};
    input.start.assign(kStart.begin(), kStart.end());
    input.on = table.origin + ": " + table.backend + " " + table.version + " " + table.table;
    input.predict = [samples, row = input.key, other](std::size_t i, const double* p) { return predicted_us(*samples, row, other, i, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace shardplan
