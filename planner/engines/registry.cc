#include <string>
#include <vector>

#include "base/errors.h"
#include "base/suggest.h"
#include "planner/engines/engines.h"

namespace shardplan {

const std::vector<Engine>& engines() {
  static const std::vector<Engine> table{neutral_engine(), vllm_engine()};
  return table;
}

const Engine& require_engine(const std::string& name) {
  if (name.empty()) return engines().front();
  std::vector<std::string> names;
  for (const Engine& engine : engines()) {
    if (name == engine.name) return engine;
    names.emplace_back(engine.name);
  }
  throw InputError("--engine", "unknown engine '" + name + "'", nearest_hint(name, names));
}

}  // namespace shardplan
