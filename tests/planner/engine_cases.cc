#include "tests/planner/engine_cases.h"

#include <algorithm>

#include "models/catalog.h"

namespace shardplan {

std::vector<std::string> broken_rules(const char* engine, const ModelSpec& model, const ParallelConfig& config,
                                      const std::string& version, const char* hardware) {
  PlanRequest request;
  request.model = model;
  request.hardware = load_hardware(hardware);
  request.engine = &require_engine(engine);
  request.engine_version = version;
  std::vector<std::string> ids;
  for (const Violation& violation : violations_of(request, request.engine->settled(model, config)))
    ids.push_back(violation.rule);
  return ids;
}

bool breaks_rule(const char* engine, const ModelSpec& model, const ParallelConfig& config, const std::string& rule,
                 const std::string& version) {
  const auto ids = broken_rules(engine, model, config, version);
  return std::find(ids.begin(), ids.end(), rule) != ids.end();
}

ModelSpec with_heads(std::int64_t q, std::int64_t kv) {
  ModelSpec model = load_model("llama-3.1-8b");
  for (LayerKind& kind : model.kinds) {
    kind.attention.q_heads = q;
    kind.attention.kv_heads = kv;
    kind.ffn.intermediate = 128 * q * 16;
  }
  return model;
}

ModelSpec with_weights(const char* name, const char* format) {
  ModelSpec model = load_model(name);
  override_weight_format(model, *find_format(format));
  return model;
}

}  // namespace shardplan
