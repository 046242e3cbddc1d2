#include "planner/measured/serving_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/errors.h"
#include "models/catalog.h"
#include "models/checkpoint_name.h"
#include "models/number_format.h"

namespace shardplan {
namespace {

constexpr double kMostTokens = 1e8;
constexpr double kMostGpus = 1e5;
constexpr double kMostMilliseconds = 1e9;

// Benchmark clients send ten times their concurrency, the first of them at once; averages hold that burst.
constexpr double kOpeningBurst = 0.1;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Observed observed(const CsvTable& table, const CsvRow& row, const std::string& prefix) {
  Observed out;
  const auto seconds = [&](const char* column) -> std::optional<double> {
    const auto value = table.number_if(row, prefix + column, 0, kMostMilliseconds);
    if (value && *value == 0) throw InputError(table.where(row, prefix + column), "is 0", "a time");
    return value ? std::optional(*value * 1e-3) : std::nullopt;
  };
  out.ttft = seconds("ttft_ms");
  out.tpot = seconds("tpot_ms");
  out.throughput = table.number_if(row, prefix + "output_tokens_per_second_per_gpu", 1e-9, 1e12);
  return out;
}

std::int64_t count(const CsvTable& table, const CsvRow& row, const char* column, double least, double most) {
  return static_cast<std::int64_t>(table.number(row, column, least, most));
}

std::int64_t count_or(const CsvTable& table, const CsvRow& row, const char* column, std::int64_t fallback,
                      double most) {
  const auto value = table.number_if(row, column, 0, most);
  return value ? static_cast<std::int64_t>(*value) : fallback;
}

void read_widths(const CsvTable& table, const CsvRow& row, ServingRow& out) {
  out.gpus = count(table, row, "gpus", 1, kMostGpus);
  out.tp = count(table, row, "tp", 1, kMostGpus);
  out.pp = std::max<std::int64_t>(1, count_or(table, row, "pp", 1, kMostGpus));
  out.dpa = std::max<std::int64_t>(1, count_or(table, row, "dpa", 1, kMostGpus));
  out.moe_tp = count_or(table, row, "moe_tp", 0, kMostGpus);
  out.ep = count_or(table, row, "ep", 0, kMostGpus);
}

void read_pool_widths(const CsvTable& table, const CsvRow& row, const std::string& pool, ServingRow& out) {
  const auto width = [&](const char* column) { return count(table, row, (pool + column).c_str(), 1, kMostGpus); };
  out.tp = width("tp_size");
  out.pp = width("pp_size");
  out.dpa = width("attention_dp_size");
  out.moe_tp = width("moe_tp_size");
  out.ep = width("moe_ep_size");
  out.gpus = width("num_workers") * out.tp * out.pp * out.dpa;
}

}  // namespace

ServingRow read_serving_row(const CsvTable& table, const CsvRow& row, const std::string& pool) {
  ServingRow out;
  out.line = row.line;
  out.id = table.text(row, "id");
  out.model = row.cells[table.require("model")];
  out.hardware = row.cells[table.require("hardware")];
  out.engine = row.cells[table.require("engine")];
  out.version = table.text(row, "engine_version");
  out.measured_on = table.text(row, "measured_on");
  out.precision = table.text(row, "precision");
  out.dense_format = table.text(row, "dense_format");
  out.expert_format = table.text(row, "expert_format");
  out.kv_dtype = table.text(row, "kv_dtype");
  out.protocol = table.text(row, "protocol");
  out.quality = table.text(row, "quality");
  out.isl = count(table, row, "isl", 1, kMostTokens);
  out.osl = count(table, row, "osl", 1, kMostTokens);
  out.concurrency = count(table, row, "concurrency", 1, kMostTokens);
  pool.empty() ? read_widths(table, row, out) : read_pool_widths(table, row, pool, out);
  out.token_budget = count_or(table, row, "token_budget", 0, kMostTokens);
  out.memory_fraction_ratio = table.number_if(row, "memory_fraction", 0, 1).value_or(0);
  out.measured = observed(table, row, "");
  out.peer = observed(table, row, "peer_");
  if (!out.measured.tpot && !out.measured.throughput) {
    throw InputError(table.where(row, "tpot_ms"), "is empty", "a time, or output_tokens_per_second_per_gpu");
  }
  return out;
}

namespace {

// Names as benchmark tables write them: "Qwen/Qwen3-235B-A22B-FP8" is the catalog's qwen3-235b-a22b; formats have columns
// of their own.
ModelSpec find_model(const std::string& model, const std::string& where) {
  if (const auto found = find_checkpoint(model)) return load_model(found->entry->name);
  try {
    return load_model(model);  // a file; or the nearest name
  } catch (const InputError& error) {
    throw InputError(where, error.what(), "");
  }
}

// Whether a checkpoint in `own` is what a table calls `asked`: "fp8" says nothing of the blocks that scales cover.
bool is_alike(const NumberFormat* own, const NumberFormat& asked) {
  return own != nullptr && (own == &asked || (own->math == asked.math && own->bits == asked.bits &&
                                              own->weight_only == asked.weight_only));
}

// Formats as the row has them, where the checkpoint does not have them already.
void set_weights(ModelSpec& model, const NumberFormat& dense, const NumberFormat& experts) {
  const std::vector<LayerKind> kinds = std::move(model.kinds);
  const std::vector<int> layers = std::move(model.layers);
  model.kinds.clear();
  model.layers.clear();
  const auto set = [](const NumberFormat*& own, const NumberFormat& asked) {
    if (!is_alike(own, asked)) own = &asked;
  };
  for (const int index : layers) {
    LayerKind kind = kinds[static_cast<std::size_t>(index)];
    set(kind.formats.attention, dense);
    set(kind.formats.attention_output, dense);
    set(kind.formats.dense_ffn, dense);
    set(kind.formats.shared_experts, dense);
    set(kind.formats.experts, experts);
    append_layer(model, kind);
  }
}

// A maker's own "-FP8" checkpoint has scales by block; others' conversions have one per tensor.
bool has_blocks(const ServingRow& row, const ModelSpec& model) {
  const std::string maker = model.hf_id.substr(0, model.hf_id.find('/'));
  return lower(row.model).ends_with("-fp8") && row.model.substr(0, row.model.find('/')) == maker;
}

const NumberFormat& format_named(std::string name, bool blocks, const std::string& where) {
  name = lower(name);
  if (name == "fp4") name = "nvfp4";
  if (name == "fp8" && blocks) name = "fp8_block";
  return require_format(name, where);
}

void set_formats(const ServingRow& row, const CsvTable& table, const CsvRow& cells, RowQuestion& out) {
  const std::string both = row.precision.empty() ? "bf16" : row.precision;
  const bool given = !row.precision.empty() || !row.dense_format.empty();
  if (given) {
    const bool blocks = has_blocks(row, out.request.model);
    const NumberFormat& dense =
        format_named(row.dense_format.empty() ? both : row.dense_format, blocks, table.where(cells, "dense_format"));
    const NumberFormat& experts =
        format_named(row.expert_format.empty() ? both : row.expert_format, blocks, table.where(cells, "expert_format"));
    set_weights(out.request.model, dense, experts);
  }
  if (!row.kv_dtype.empty() && row.kv_dtype != "auto") {
    out.request.kv_format = &require_kv_format(lower(row.kv_dtype), table.where(cells, "kv_dtype"));
  } else if (row.engine == "trtllm" && (row.dense_format == "fp8" || row.dense_format == "nvfp4")) {
    out.request.kv_format = &require_kv_format("fp8", "kv_dtype");  // its quantised checkpoints say so
  }
}

void set_engine(const ServingRow& row, PlanRequest& request) {
  for (const Engine& engine : engines()) {
    if (row.engine == engine.name) request.engine = &engine;
  }
  request.engine_version =
      row.version.empty() || row.version.front() < '0' || row.version.front() > '9' ? "" : row.version;
  if (request.engine != nullptr) request.engine_version = request.engine->release_of(request.engine_version);
  if (request.engine != nullptr && request.engine_version.empty()) request.engine_version = request.engine->release_at(row.measured_on);
  request.engine_times_as = row.engine;
  request.max_batched_tokens = row.token_budget;
  request.memory_fraction_ratio = row.memory_fraction_ratio;
}

ParallelConfig config_of(const ServingRow& row, const ModelSpec& model) {
  ParallelConfig config;
  config.tp = row.tp;
  config.pp = row.pp;
  config.dpa = row.dpa;
  const std::int64_t ranks = row.tp * row.dpa;
  config.replicas = std::max<std::int64_t>(1, row.gpus / (ranks * row.pp));
  if (!model.is_moe()) return config;
  const bool given = row.moe_tp * row.ep == ranks;
  config.moe_tp = given ? row.moe_tp : ranks;
  config.ep = given ? row.ep : 1;
  config.variant.moe_comm = config.dpa == 1 ? MoeComm::kReplicated : MoeComm::kAllGather;
  return config;
}

}  // namespace

std::vector<ServingRow> read_serving_rows(const CsvTable& table) {
  for (const char* column :
       {"model", "hardware", "engine", "isl", "osl", "concurrency", "gpus", "tp", "tpot_ms", "ttft_ms"}) {
    (void)table.require(column);
  }
  std::vector<ServingRow> rows;
  for (const CsvRow& row : table.rows()) rows.push_back(read_serving_row(table, row, ""));
  if (rows.empty()) throw InputError(table.file(), "holds no rows", "measured points below the header");
  return rows;
}

bool protocol_is_known(const ServingRow& row) { return row.protocol == "inferencex"; }

RowQuestion question_of(const ServingRow& row, const CsvTable& table) {
  const CsvRow cells{row.line, {}};
  RowQuestion out;
  out.knows_protocol = protocol_is_known(row);
  PlanRequest& request = out.request;
  request.model = find_model(row.model, table.where(cells, "model"));
  try {
    request.hardware = load_hardware(row.hardware);
  } catch (const InputError& error) {
    throw InputError(table.where(cells, "hardware"), error.what(), "");
  }
  set_formats(row, table, cells, out);
  set_engine(row, request);
  request.price.mode = request.hardware.calibrated ? PriceMode::kCalibrated : PriceMode::kSpeedOfLight;
  if (request.price.mode == PriceMode::kCalibrated) request.price.expert_load = served_expert_load();
  request.workload.isl = row.isl;
  request.workload.osl = row.osl;
  request.workload.concurrency = row.concurrency;
  request.workload.burst_ratio = kOpeningBurst;
  request.workload.equal_lengths = row.protocol == "unknown";
  out.config = config_of(row, request.model);
  request.gpus = out.config.gpus();
  return out;
}

}  // namespace shardplan
