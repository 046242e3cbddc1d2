#include "planner/measured/simulated_rows.h"

#include <tbb/parallel_for.h>

#include "planner/benchmark_protocol.h"
#include "planner/deployment.h"

namespace shardplan {
namespace {

// Runs of which nothing but the concurrency is on record: their clients send lengths that hardly vary.
constexpr double kUnknownLengthRatio = 0.9;

BenchmarkProtocol protocol_of(const RowQuestion& question) {
  BenchmarkProtocol protocol = inferencex_protocol(question.request, question.config);
  if (question.knows_protocol) return protocol;
  protocol.scheduling.hold_steps = 0;
  protocol.length_ratio = times_of(question.request).prefill_first ? 1 : kUnknownLengthRatio;
  return protocol;
}

SimulatedRow simulate_row(RowQuestion question, const std::shared_ptr<const EngineTimesTable>& times) {
  SimulatedRow out;
  question.request.engine_times = times;
  try {
    const BenchmarkPrediction p = simulate_benchmark(question.request, question.config, protocol_of(question));
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

std::function<std::vector<Quantity3>(const EngineTimesTable&)> simulated_predictor(
    const std::vector<ServingRow>& rows, const CsvTable& table, const std::vector<std::size_t>& use) {
  auto questions = std::make_shared<std::vector<std::pair<std::size_t, RowQuestion>>>();
  for (const std::size_t i : use) {
    if (protocol_is_known(rows[i])) questions->emplace_back(i, question_of(rows[i], table));
  }
  return [&rows, questions](const EngineTimesTable& times) {
    const auto shared = std::make_shared<const EngineTimesTable>(times);
    std::vector<Quantity3> out(rows.size());
    tbb::parallel_for(std::size_t{0}, questions->size(), [&](std::size_t q) {
      const auto& [row, question] = (*questions)[q];
      out[row] = simulate_row(question, shared).of;
    });
    return out;
  };
}

std::vector<SimulatedRow> simulate_rows(const std::vector<ServingRow>& rows, const CsvTable& table,
                                        const std::shared_ptr<const EngineTimesTable>& times) {
  std::vector<RowQuestion> questions;
  questions.reserve(rows.size());
  for (const ServingRow& row : rows) questions.push_back(question_of(row, table));
  std::vector<SimulatedRow> out(rows.size());
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) { out[i] = simulate_row(questions[i], times); });
  return out;
}

}  // namespace shardplan
