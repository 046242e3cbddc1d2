#include "planner/measured/simulated_rows.h"

#include <tbb/parallel_for.h>

#include "planner/benchmark_protocol.h"
#include "planner/deployment.h"

namespace shardplan {
namespace {

// Runs of which nothing but the concurrency is on record: their clients send lengths that hardly vary.
constexpr double kUnknownLengthRatio = 0.9;

BenchmarkProtocol protocol_of(const ServingRow& row, const RowQuestion& question) {
  BenchmarkProtocol protocol = inferencex_protocol(question.request, question.config);
  if (row.protocol == "inferencex") return protocol;
  protocol.scheduling.hold_steps = 0;
  protocol.length_ratio = times_of(question.request).prefill_first ? 1 : kUnknownLengthRatio;
  return protocol;
}

SimulatedRow simulate_row(const ServingRow& row, RowQuestion question,
                          const std::shared_ptr<const EngineTimesTable>& times) {
  SimulatedRow out;
  question.request.engine_times = times;
  try {
    const BenchmarkPrediction p = simulate_benchmark(question.request, question.config, protocol_of(row, question));
    out.simulated = p.simulated;
    out.kv_demand_ratio = p.kv_demand_ratio;
    out.of = {.tpot = p.tpot.value(),
              .ttft = p.ttft.value(),
              .throughput = p.output_tokens_per_second / static_cast<double>(question.config.gpus())};
  } catch (const LoweringRefusal&) {
    out.simulated = false;
  }
  return out;
}

}  // namespace

std::vector<SimulatedRow> simulate_rows(const std::vector<ServingRow>& rows, const CsvTable& table,
                                        const std::shared_ptr<const EngineTimesTable>& times) {
  std::vector<RowQuestion> questions;
  questions.reserve(rows.size());
  for (const ServingRow& row : rows) questions.push_back(question_of(row, table));
  std::vector<SimulatedRow> out(rows.size());
  tbb::parallel_for(std::size_t{0}, rows.size(),
                    [&](std::size_t i) { out[i] = simulate_row(rows[i], questions[i], times); });
  return out;
}

}  // namespace shardplan
