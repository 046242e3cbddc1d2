#include "tools/commands/calibrate/step_flags.h"

#include "base/errors.h"
#include "calibrate/small_models.h"
#include "costmodel/lowering/registry.h"
#include "models/catalog.h"
#include "tools/cli/values.h"

namespace shardplan {
namespace {

// Other batches and lengths in between, and prompts: so that a fit sees more than the asked shapes.
constexpr std::int64_t kGridBatches[] = {1, 2, 3, 6, 12, 24, 48, 96};
constexpr std::int64_t kGridContexts[] = {64, 192, 512};
constexpr std::int64_t kGridPrefill[] = {16, 64, 192};

Flag list_flag(std::string name, std::string help, std::vector<std::int64_t>& target, CountRange range) {
  auto store = [name, range, &target](const std::string& text) { target = parse_counts(text, name, range); };
  return {std::move(name), "N,N,..", std::move(help), std::move(store)};
}

void add_grid(RunPlan& plan) {
  for (const std::int64_t context : kGridContexts) {
    for (const std::int64_t batch : kGridBatches) plan.shapes.push_back({.decode_sequences = batch, .decode_context = static_cast<double>(context)});
  }
  for (const std::int64_t tokens : kGridPrefill) plan.shapes.push_back({.prefill_sequences = 1, .prefill_tokens = tokens});
}

}  // namespace

FlagGroup step_set_flags(StepSetFlags& flags) {
  return {"Steps",
          {{"--model", "NAME,NAME,..", "models whose steps are wanted: catalog names, config.json files, small models",
            [&flags](const std::string& text) { flags.models = split_list(text); }},
           list_flag("--tp", "tensor parallel degrees (default: 1)", flags.tp, {1, 64}),
           list_flag("--batches", "sequences of decode steps (default: 1,4,16,64)", flags.batches, {1, 4096}),
           list_flag("--contexts", "positions that each attends to (default: 256)", flags.contexts, {1, 1'000'000}),
           list_flag("--prefill-tokens", "tokens of prompts (default: none)", flags.prefill, {1, 1'000'000}),
           {"--grid", "", "further shapes between those, for the fit", [&flags](const std::string&) { flags.grid = true; }}}};
}

ModelSpec load_small_or_catalog_model(const std::string& name) {
  for (const ModelSpec& model : small_models()) {
    if (model.name == name) return model;
  }
  return load_model(name);
}

RunPlan make_run_plan(const StepSetFlags& flags) {
  if (flags.models.empty()) throw InputError("--model", "is missing", "a model's name");
  RunPlan plan;
  for (const std::string& name : flags.models) plan.models.push_back(load_small_or_catalog_model(name));
  for (const std::int64_t tp : flags.tp) {
    plan.configs.push_back({.tp = tp, .moe_tp = 1});
    if (tp == 1) continue;
    plan.configs.push_back({.tp = tp, .moe_tp = tp});
    plan.configs.push_back({.tp = tp, .moe_tp = 1, .ep = tp});
  }
  for (const std::int64_t context : flags.contexts) {
    for (const std::int64_t batch : flags.batches) plan.shapes.push_back({.decode_sequences = batch, .decode_context = static_cast<double>(context)});
  }
  for (const std::int64_t tokens : flags.prefill) plan.shapes.push_back({.prefill_sequences = 1, .prefill_tokens = tokens});
  if (flags.grid) add_grid(plan);
  return plan;
}

void check_degrees(const StepSetFlags& flags, const RunPlan& plan, std::optional<std::int64_t> ranks) {
  for (const std::int64_t tp : flags.tp) {
    const std::string where = "--tp " + std::to_string(tp);
    if (ranks && tp > *ranks) throw InputError(where, "needs as many ranks, and there are " + std::to_string(*ranks), "--ranks of that many");
    for (const ModelSpec& model : plan.models) {
      std::string wrong;
      bool allowed = false;
      for (const ParallelConfig& config : plan.configs) {
        if (config.tp != tp) continue;
        const auto violations = check_config(model, config);
        allowed = allowed || violations.empty();
        if (!violations.empty() && wrong.empty()) wrong = violations.front().message;
      }
      if (!allowed) throw InputError(where, model.name + ": " + wrong, "a degree that the model allows");
    }
  }
}

}  // namespace shardplan
