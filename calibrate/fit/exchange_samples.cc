// DeepEP's dispatch and combine: the price of the profile's own rows, with the parameters that are being fitted.
#include <array>
#include <memory>

#include "calibrate/fit/collective_rows.h"
#include "calibrate/fit/kernel_samples.h"

namespace shardplan {
namespace {

constexpr double kLeastProcessors = 20;  // that engines give to the normal kernels
constexpr double kScaled = 1 + 4.0 / 128;  // bytes of a value in fp8 with a scale for 128
constexpr double kHeader = 16;             // of a token in a low-latency buffer
constexpr std::array<double, 5> kStart{25, 0, 0.6, 0.01, 0.1};

// A dispatch in fp8 or a combine in bf16, all ranks with as many tokens and all experts as busy.
CollectiveSample sample_of(const MeasuredTable& table, const Measurement& cell, bool dispatch, bool low_latency, int ranks) {
  const double hidden = table.number(cell.row, "hidden_size");
  const double per_token = table.number(cell.row, "num_topk");
  const double row = dispatch ? kScaled * hidden + (low_latency ? kHeader : 0) : 2 * hidden;
  const double others = 1 - 1.0 / ranks;
  const double visits = distinct_groups(ranks, per_token);
  return {.message_bytes = cell.swept * visits * row,
          .sent_bytes = cell.swept * visits * row * others,
          .ranks = ranks,
          .token_bytes = cell.swept * row,
          .experts_per_token = per_token};
}

}  // namespace

std::vector<FitInput> exchange_inputs(const MeasuredTable& table, const HardwareProfile& hardware, bool across) {
  if (table.table.find("deepep") == std::string::npos) return {};
  const bool low_latency = table.table.find("_ll_") != std::string::npos;
  std::vector<FitInput> out;
  for (const bool dispatch : {true, false}) {
    const auto samples = std::make_shared<PricedCollectives>(hardware, dispatch ? CollectiveKind::kDispatch : CollectiveKind::kCombine, false);
    FitInput input;
    for (std::size_t c = dispatch ? 0 : 1; c < table.cells.size(); c += 2) {
      const Measurement& cell = table.cells[c];
      const auto nodes = static_cast<int>(table.number(cell.row, "node_num"));
      if ((nodes > 1) != across) continue;
      if (!low_latency && table.number(cell.row, "dispatch_sms") < kLeastProcessors) {
        ++input.dropped["fewer multiprocessors than engines give it"];
        continue;
      }
      const CollectiveSample sample = sample_of(table, cell, dispatch, low_latency, hardware.node.devices * nodes);
      samples->add(sample);
      add_sample(input, table, cell, hash_of({sample.token_bytes, sample.experts_per_token, static_cast<double>(sample.ranks)}), sample.token_bytes);
    }
    if (samples->empty()) continue;
    const std::string place = across ? "inter." : "";
    const std::string name = dispatch ? "dispatch" : "combine";
    samples->leave_out(place + (low_latency ? "" : "ll_") + name);   // the kind that did not run
    input.key = place + (low_latency ? "ll_" : "") + name;
    input.collectives = {input.key};
    input.start.assign(kStart.begin(), kStart.end());
    input.on = source_of(table);
    input.predict = [samples, rows = input.collectives](std::size_t i, const double* p) { return samples->predicted_us(i, rows, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace shardplan
