// No engine: the algebra's own rules, an even split, and the overheads of vLLM, which are the best measured.
//
// What an engine could do if it implemented every strategy. Legality is check_config's alone; layers are balanced by
// the search (costmodel/stages.h), the even split with extras first is what is shown where nobody asks for more.
#include "costmodel/stages.h"
#include "planner/engines/engines.h"

namespace shardplan {
namespace {

const std::vector<EngineRule>& no_rules() {
  static const std::vector<EngineRule> none;
  return none;
}

}  // namespace

Engine neutral_engine() {
  Engine engine = vllm_engine();
  engine.name = "neutral";
  engine.help = "no engine: every strategy of the cost model, overheads as vLLM's";
  engine.default_version = engine.oldest_version = engine.newest_version = "";
  engine.device_order = DeviceOrder::kStageMajor;
  engine.rules = no_rules;
  engine.layer_split = even_layer_split;
  engine.exports = false;
  return engine;
}

}  // namespace shardplan
