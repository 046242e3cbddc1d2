#include <algorithm>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/suggest.h"
#include "planner/deployment.h"
#include "planner/export/exporters.h"

namespace shardplan {
namespace {

const Exporter& require_exporter(const std::string& engine) {
  std::vector<std::string> names;
  for (const Exporter& exporter : exporters()) {
    if (engine == exporter.engine) return exporter;
    names.emplace_back(exporter.engine);
  }
  throw InputError("--engine", "no launch files for '" + engine + "'", nearest_hint(engine, names));
}

}  // namespace

const std::vector<Exporter>& exporters() {
  static const std::vector<Exporter> table{vllm_exporter()};
  return table;
}

Launch export_plan(const PlanRequest& request, const Plan& plan, const std::string& engine) {
  const Engine& own = engine_of(request);
  const std::string name = !engine.empty() ? engine : own.exports ? own.name : exporters().front().engine;
  const Exporter& exporter = require_exporter(name);
  const Engine& target = require_engine(name);
  const std::string version = name == own.name ? version_of(request) : target.default_version;
  Launch launch{name, version, {}, {}, {}, {}};
  const auto violations = target.check(request.model, plan.config, request.hardware, version);
  if (!violations.empty())
    launch.refused = violations.front().message;
  else if (!plan.ledger.fits)
    launch.refused = plan.ledger.misfit;
  return launch.refused.empty() ? exporter.write(request, plan, version) : launch;
}

}  // namespace shardplan
