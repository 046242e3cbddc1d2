// The ledger against start-ups that an engine logged (shared measured/memory_vllm_h100.csv, where it is there).
//
// Weights are the model's business: within 1 %. Activations, buffers and graphs are the engine's; they are reported
// beside each row, not judged.
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "base/errors.h"
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/setup.h"
#include "tests/models/shared_data.h"

namespace shardplan {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<Row> read_rows(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto names = split(line, ',');
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const auto cells = split(line, ',');
    Row row;
    for (std::size_t i = 0; i < cells.size() && i < names.size(); ++i) row[names[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

// The model of a row as it was loaded, or nothing where the catalog has not got it.
std::optional<ModelSpec> model_of(const Row& row) {
  if (row.at("dtype") == "torch.float32") return std::nullopt;  // a cast, not a published checkpoint
  const bool dynamic_fp8 = row.at("model") == "RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic";
  try {
    ModelSpec model = load_model(dynamic_fp8 ? "llama-3.1-70b" : row.at("model"));
    if (dynamic_fp8 || row.at("quant") == "fp8") override_weight_format(model, *find_format("fp8"));
    if (row.at("kv_dtype") == "fp8") model.kv_format = find_format("fp8");
    return model;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

double gib(Bytes bytes) { return static_cast<double>(bytes.value()) / static_cast<double>(kGiB); }

// Column `name` of a stage: one number, or one per stage.
double stage_number(const Row& row, const std::string& name, std::size_t stage) {
  const auto parts = split(row.at(name), '/');
  return std::stod(parts[std::min(stage, parts.size() - 1)]);
}

Ledger ledger_of(const ModelSpec& model, const Row& row) {
  const auto degree = [&](const char* name) { return static_cast<std::int64_t>(std::stod(row.at(name))); };
  ParallelConfig config{.pp = degree("pp"), .tp = degree("tp")};
  if (model.is_moe()) config.moe_tp = config.tp;
  const EngineMemory engine{.memory_fraction_ratio = std::stod(row.at("util"))};
  const std::int64_t sequences = degree("max_num_seqs");
  const MemoryDemand demand{.largest_step = {.decode_sequences = sequences,
                                             .decode_context = 1024,
                                             .prefill_sequences = 1,
                                             .prefill_tokens = degree("max_num_batched_tokens") - sequences},
                            .request_tokens = degree("max_model_len")};
  HardwareProfile hardware = load_hardware("h100-sxm");
  hardware.device.memory = Bytes(static_cast<std::int64_t>(std::stod(row.at("total_gib")) * static_cast<double>(kGiB)));
  return Setup(model, config, hardware).ledger(engine, demand);
}

// Compares the rows of models that `take` accepts; how many there were.
template <class Take>
int compare_weights(Take take) {
  const auto path = shared_path("measured/memory_vllm_h100.csv");
  int compared = 0;
  for (const Row& row : path ? read_rows(*path) : std::vector<Row>{}) {
    const auto model = model_of(row);
    if (!model || !take(*model)) continue;
    const Ledger ledger = ledger_of(*model, row);
    ++compared;
    for (std::size_t s = 0; s < ledger.stages.size(); ++s) {
      const StageLedger& stage = ledger.stages[s];
      INFO(row.at("model") << " tp " << row.at("tp") << " pp " << row.at("pp") << " stage " << s);
      INFO("activations " << gib(stage.activation_bytes) << " GiB, logged " << stage_number(row, "act_gib", s));
      INFO("workspace " << gib(stage.workspace_bytes) << " GiB, logged " << stage_number(row, "nontorch_gib", s)
                        << " and graphs " << row.at("graph_actual_gib"));
      INFO("cache " << ledger.kv_capacity_tokens << " tokens, logged " << row.at("kv_tokens"));
      CHECK(gib(stage.weights_bytes) == Approx(stage_number(row, "weights_gib", s)).epsilon(0.01));
    }
  }
  return compared;
}

bool has_four_bit_experts(const ModelSpec& model) {
  return model.is_moe() && model.kinds.front().formats.experts->bits == 4;
}

TEST_CASE("Weights of logged start-ups are within one percent") {
  const int compared = compare_weights([](const ModelSpec& model) { return !has_four_bit_experts(model); });
  CHECK((compared == 0 || compared >= 15));  // none where the log is not there
}

// gpt-oss-20b logs 13.64 GiB for 12.80 on disk: the engine pads 2880 columns to what its MXFP4 kernels want.
TEST_CASE("Weights of logged start-ups in MXFP4 are within one percent", "[!mayfail]") {
  compare_weights(has_four_bit_experts);
}

TEST_CASE("The logged pool of cache holds the logged tokens at the ledger's bytes per token") {
  // tokens = pool / bytes per token, in blocks of 16: 0.1 % covers the log's two decimals. Windows count otherwise, and
  // of a pipeline the log gives one stage's pool but the tightest stage's tokens.
  const auto path = shared_path("measured/memory_vllm_h100.csv");
  if (!path) return;
  for (const Row& row : read_rows(*path)) {
    const auto model = model_of(row);
    if (!model || model->has_window() || row.at("pp") != "1.0") continue;
    const double pool = std::stod(row.at("kv_gib")) * static_cast<double>(kGiB);
    INFO(row.at("model") << " tp " << row.at("tp") << " pp " << row.at("pp"));
    CHECK(pool / ledger_of(*model, row).kv_bytes_per_token == Approx(std::stod(row.at("kv_tokens"))).epsilon(0.001));
  }
}

}  // namespace
}  // namespace shardplan
