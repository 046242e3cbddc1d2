#include "planner/measured/disaggregated_rows.h"

#include <tbb/parallel_for.h>

#include <utility>

#include "base/errors.h"
#include "planner/benchmark_protocol.h"
#include "planner/deployment.h"

namespace shardplan {
namespace {

ServingRow pool_row(const CsvTable& table, const CsvRow& cells, const std::string& pool) {
  ServingRow row = read_serving_row(table, cells, pool);
  row.dense_format = table.text(cells, "gemm_quant_mode");
  row.expert_format = table.text(cells, "moe_quant_mode");
  if (row.moe_tp * row.ep != row.tp * row.dpa) {  // the widths of experts are not on record: whole, over all ranks
    row.moe_tp = 1;
    row.ep = row.tp * row.dpa;
  }
  // Attention DP over the whole stage: the same runs stand in public tables with expert parallelism on record and without,
  // with the same times. Engines turn it on with their all-to-all, whatever the flag says.
  if (row.dpa > 1 && row.ep == 1 && row.moe_tp == row.tp * row.dpa) std::swap(row.moe_tp, row.ep);
  if (row.protocol.empty()) row.protocol = "inferencex";
  return row;
}

// Engines that spread attention and experts over the same ranks exchange tokens all to all.
void exchange(ParallelConfig& config) {
  if (config.dpa > 1 && config.ep == config.stage_ranks()) config.variant.moe_comm = MoeComm::kAllToAll;
}

SimulatedRow simulate_row(const RowQuestion& prefill, const RowQuestion& decode) {
  SimulatedRow out;
  PoolConfigs pools{.prefill = prefill.config, .decode = decode.config};
  exchange(pools.prefill);
  exchange(pools.decode);
  const std::int64_t gpus = pools.prefill.gpus() + pools.decode.gpus();
  try {
    const BenchmarkPrediction p =
        simulate_benchmark_pools(decode.request, pools, inferencex_protocol(decode.request, decode.config));
    out.simulated = p.simulated;
    out.of = {.tpot = p.tpot.value(),
              .ttft = p.ttft.value(),
              .throughput = p.output_tokens_per_second / static_cast<double>(gpus)};
  } catch (const LoweringRefusal&) {
    out.simulated = false;
  }
  return out;
}

}  // namespace

bool is_disaggregated(const CsvTable& table) { return table.has("prefill_num_workers"); }

std::vector<DisaggregatedRow> read_disaggregated_rows(const CsvTable& table) {
  std::vector<DisaggregatedRow> rows;
  for (const CsvRow& cells : table.rows()) {
    if (table.text(cells, "concurrency").empty()) continue;  // an offline run: nothing says what was in flight
    rows.push_back({.prefill = pool_row(table, cells, "prefill_"), .decode = pool_row(table, cells, "decode_")});
  }
  if (rows.empty()) throw InputError(table.file(), "holds no rows", "measured points below the header");
  return rows;
}

std::vector<SimulatedRow> simulate_disaggregated(const std::vector<DisaggregatedRow>& rows, const CsvTable& table,
                                                 const std::shared_ptr<const EngineTimesTable>& times) {
  std::vector<RowQuestion> prefill, decode;
  for (const DisaggregatedRow& row : rows) {
    prefill.push_back(question_of(row.prefill, table));
    decode.push_back(question_of(row.decode, table));
    prefill.back().request.engine_times = decode.back().request.engine_times = times;
  }
  std::vector<SimulatedRow> out(rows.size());
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) { out[i] = simulate_row(prefill[i], decode[i]); });
  return out;
}

}  // namespace shardplan
