#include "tests/planner/start_up_rows.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "models/catalog.h"
#include "planner/cluster.h"
#include "planner/deployment.h"
#include "tests/models/shared_data.h"

namespace shardplan {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::int64_t whole_number(const StartUpRow& row, const char* name) { return std::llround(std::stod(row.at(name))); }

// As an engine's dtype flag: what is not quantised is held in it.
void cast(ModelSpec& model, const NumberFormat* format) {
  const auto one = [&](const NumberFormat*& held) {
    if (held != nullptr && held->bits == 16) held = format;
  };
  std::vector<WeightFormats*> all{&model.formats};
  for (LayerKind& kind : model.kinds) all.push_back(&kind.formats);
  for (WeightFormats* f : all) {
    for (const NumberFormat** held : {&f->attention, &f->attention_output, &f->dense_ffn, &f->shared_experts,
                                      &f->experts, &f->embedding, &f->head, &f->other})
      one(*held);
  }
  one(model.kv_format);
}

}  // namespace

std::vector<StartUpRow> start_up_rows() {
  std::vector<StartUpRow> rows;
  const auto path = shared_path("measured/memory_vllm_h100.csv");
  if (!path) return rows;
  std::ifstream file(*path);
  std::string line;
  std::getline(file, line);
  const auto names = split(line, ',');
  while (std::getline(file, line)) {
    const auto cells = split(line, ',');
    StartUpRow row;
    for (std::size_t i = 0; i < cells.size() && i < names.size(); ++i) row[names[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<double> stage_numbers(const StartUpRow& row, const std::string& name) {
  std::vector<double> numbers;
  for (const std::string& part : split(row.at(name), '/')) numbers.push_back(std::stod(part));
  return numbers;
}

Plan start(ModelSpec model, const StartUp& what) {
  PlanRequest request;
  request.model = std::move(model);
  if (!what.weight_format.empty()) override_weight_format(request.model, *find_format(what.weight_format));
  if (!what.dtype.empty()) {
    request.activation_format = find_format(what.dtype);
    cast(request.model, request.activation_format);
  }
  if (!what.kv_format.empty()) request.kv_format = find_format(what.kv_format);
  request.hardware = load_hardware(what.hardware);
  request.engine = &require_engine(what.engine);
  request.engine_version = what.version;
  request.memory_fraction_ratio = what.memory_fraction;
  request.max_model_len = what.max_model_len;
  request.max_batched_tokens = what.max_batched_tokens;
  request.max_num_sequences = what.max_num_seqs;
  ParallelConfig config = what.config;
  if (request.model.is_moe() && config.ep == 1) config.moe_tp = config.stage_ranks();
  request.gpus = config.instance_gpus();
  const Cluster cluster(request, request.gpus);
  return Deployment(request, config, {}, cluster.collectives()).plan();
}

Plan start(const StartUp& what) { return start(load_model(what.model), what); }

Plan planned(const StartUpRow& row) {
  const std::string& name = row.at("model");
  const std::string& dtype = row.at("dtype");
  const bool quantised = row.at("quant") == "fp8" || row.at("quant") == "compressed-tensors";
  StartUp what{.model = name == "RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic" ? "llama-3.3-70b" : name,
               .version = row.at("engine_version").substr(1),
               .weight_format = quantised ? "fp8" : "",
               .kv_format = row.at("kv_dtype") == "auto" ? "" : row.at("kv_dtype"),
               .dtype = dtype == "torch.float32"   ? "fp32"
                        : dtype == "torch.float16" ? "fp16"
                                                   : "",
               .memory_fraction = std::stod(row.at("util")),
               .max_model_len = whole_number(row, "max_model_len"),
               .max_batched_tokens = whole_number(row, "max_num_batched_tokens"),
               .max_num_seqs = whole_number(row, "max_num_seqs")};
  what.config.tp = whole_number(row, "tp");
  what.config.pp = whole_number(row, "pp");
  return start(what);
}

}  // namespace shardplan
