// Recorded runs of vLLM, request by request: the machine is fitted on one run, the others are predicted.
//
// Published logs (ShareGPT lengths, about 10 requests/s, 300 requests): most of the time to the first token is queueing
// for a seat or for cache, so that a step law that gets the throughput right gets it right. Fitted: two factors on the
// machine's bandwidth and arithmetic peak. Skipped where the logs are not there.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "planner/simulate.h"
#include "tests/catch.h"
#include "tests/models/shared_data.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

struct Measured {
  double ttft = 0;
  double tpot = 0;  // 0: one token
};

struct LoggedRun {
  std::string file;
  const char* model;
  const char* hardware;
  ParallelConfig config;
  std::int64_t seats = 0;
  std::vector<Measured> requests;
};

// Arrivals are wall times, the rest the engine's clock: they are matched by the request that waited least.
std::vector<Measured> read_log(const std::string& file) {
  std::ifstream in(file);
  std::vector<Json> rows;
  double offset = 1e300;
  for (std::string line; std::getline(in, line);) {
    rows.push_back(Json::parse(line));
    offset = std::min(offset, rows.back().at("queued_ts").get<double>() - rows.back().at("arrival_time").get<double>());
  }
  std::vector<Measured> out;
  for (const Json& row : rows) {
    const double first = row.at("first_token_ts").get<double>();
    const double gaps = row.at("output_toks").get<double>() - 1;
    out.push_back({.ttft = first - row.at("arrival_time").get<double>() - offset,
                   .tpot = gaps > 0 ? (row.at("last_token_ts").get<double>() - first) / gaps : 0});
  }
  return out;
}

class Kept : public RecordSink {
 public:
  void add(const RequestRecord& record) override { all.push_back(record); }
  std::vector<RequestRecord> all;
};

struct Factors {
  double bandwidth = 1;
  double peak = 1;
  double links = 1;
};

struct Errors {
  double ttft_mean = 0;
  double ttft_median = 0;
  double tpot_mean = 0;
  double p50_ratio = 0;  // of the distributions of TTFT, predicted over measured
  double p90_ratio = 0;
  [[nodiscard]] double cost() const { return ttft_mean + tpot_mean; }
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

Errors replay(const LoggedRun& run, const Factors& factors) {
  PlanRequest request = request_for({.model = run.model, .hardware = run.hardware, .engine = "vllm"});
  request.engine_version = "0.19";
  request.hardware.device.memory_bandwidth = request.hardware.device.memory_bandwidth * factors.bandwidth;
  for (FlopsPerSecond& peak : request.hardware.device.peak) peak = peak * factors.peak;
  for (auto& [kind, coefficients] : request.hardware.collectives) coefficients.efficiency *= factors.links;
  request.max_num_sequences = run.seats;
  request.max_batched_tokens = 2048;
  const SimulatedTraffic traffic{.trace = run.file};
  const RequestLengths longest = longest_request(traffic, {});
  request.workload.isl = longest.prompt_tokens;
  request.workload.osl = longest.output_tokens;
  Kept records;
  SimulationSettings settings;
  settings.records = &records;
  (void)simulate_config(request, run.config, traffic, settings);
  std::vector<double> ttft, tpot, measured, predicted;
  for (const RequestRecord& r : records.all) {
    const Measured& m = run.requests.at(static_cast<std::size_t>(r.id));
    predicted.push_back(to_seconds(r.ttft()).value());
    measured.push_back(m.ttft);
    ttft.push_back(std::abs(predicted.back() / m.ttft - 1));
    if (m.tpot > 0) tpot.push_back(std::abs(to_seconds(r.tpot()).value() / m.tpot - 1));
  }
  return {.ttft_mean = mean(ttft),
          .ttft_median = quantile(ttft, 0.5),
          .tpot_mean = mean(tpot),
          .p50_ratio = quantile(predicted, 0.5) / quantile(measured, 0.5),
          .p90_ratio = quantile(predicted, 0.9) / quantile(measured, 0.9)};
}

// Pattern search over a shrinking step, one factor or two at a time (they trade against one another): some hundred
// replays.
Factors fit(const LoggedRun& run) {
  Factors best;
  double least = replay(run, best).cost();
  for (double step = 0.2; step > 0.01; step /= 2) {
    for (bool better = true; better;) {
      better = false;
      for (int direction = 1; direction < 27; ++direction) {
        Factors tried = best;
        tried.bandwidth *= std::pow(1 + step, direction % 3 - 1);
        tried.peak *= std::pow(1 + step, direction / 3 % 3 - 1);
        tried.links *= std::pow(1 + step, direction / 9 - 1);
        if (std::max({tried.bandwidth, tried.peak, tried.links}) > 3) continue;
        const double cost = replay(run, tried).cost();
        if (cost >= least) continue;
        least = cost;
        best = tried;
        better = true;
      }
    }
  }
  return best;
}

LoggedRun logged(const std::string& folder, const std::string& name, const char* model, const char* hardware,
                 std::int64_t tp, std::int64_t seats) {
  LoggedRun run{.file = folder + "/" + name + "_requests.jsonl",
                .model = model,
                .hardware = hardware,
                .config = degrees(tp),
                .seats = seats};
  run.requests = read_log(run.file);
  return run;
}

TEST_CASE("Recorded vLLM runs: fitted on one, the others are predicted request by request") {
  const auto folder = shared_path("measured/requests");
  if (!folder) return;
  const LoggedRun small = logged(*folder, "RTXPRO6000_Llama-3.1-8B", "llama-3.1-8b", "rtx-pro-6000", 1, 128);
  const LoggedRun large = logged(*folder, "RTXPRO6000_Qwen3-32B", "qwen3-32b", "rtx-pro-6000", 2, 128);
  const LoggedRun other = logged(*folder, "RTX4090_Llama-3.1-8B", "llama-3.1-8b", "rtx-4090", 1, 256);
  const Factors factors = fit(large);  // two GPUs: kernels and links are both seen
  const Errors fitted = replay(large, factors);
  CHECK(fitted.tpot_mean < 0.05);
  // Wanted, and told where missed: TPOT within 5 %, TTFT within 15 % on average. The bounds below are what a change of
  // prices must not exceed; the prices at hand reach 7 % and 20 %.
  const Errors same_gpu = replay(small, factors);
  INFO("TPOT " << same_gpu.tpot_mean << ", TTFT " << same_gpu.ttft_mean << " mean " << same_gpu.ttft_median << " median");
  CHECK_NOFAIL(same_gpu.tpot_mean < 0.05);
  CHECK_NOFAIL(same_gpu.ttft_mean < 0.15);
  CHECK(same_gpu.tpot_mean < 0.10);
  CHECK(same_gpu.ttft_mean < 0.25);
  // p50 and p90 of the time to the first token, predicted over measured.
  CHECK(same_gpu.p50_ratio == Approx(1).epsilon(0.25));
  CHECK(same_gpu.p90_ratio == Approx(1).epsilon(0.25));
  // Another GPU of the same family, by the first one's distance from its datasheet: its run lives at the edge of its cache.
  const Errors other_gpu = replay(other, factors);
  INFO("TPOT " << other_gpu.tpot_mean << ", TTFT " << other_gpu.ttft_mean);
  CHECK(other_gpu.ttft_mean < 0.4);
}

}  // namespace
}  // namespace shardplan
