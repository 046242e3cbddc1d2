#include "tools/commands/calibrate/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/progress.h"
#include "base/suggest.h"
#include "calibrate/check/breakage.h"
#include "calibrate/check/run_check.h"
#include "calibrate/small_models.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/commands/calibrate/backend.h"
#include "tools/documents/check_document.h"
#include "tools/tables/check_table.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "Runs every sharding there is of small transformers, on 1 to N ranks: prefill, then decode steps that embed what was\n"
    "sampled. Holds every value of every rank against the unsharded run, the bytes that moved against those in the graph,\n"
    "and the memory of the fullest rank against the ledger; times a decode step. Exit status 1 when a row does not hold.\n"
    "Under mpirun, torchrun, srun, or with RANK, WORLD_SIZE and MASTER_ADDR set, each process is a rank:\n"
    "mpirun -n 4 shardplan calibrate check.";

struct CheckFlags {
  BackendFlags backend;
  std::string model = "small";
  std::string lowering, hardware;
  Storage storage = Storage::kFp32;
  const BreakageKind* breakage = nullptr;
};

FlagGroup check_flags(CheckFlags& flags) {
  Choices<const BreakageKind*> kinds;
  for (const BreakageKind& kind : breakage_kinds()) kinds.emplace_back(kind.name, &kind);
  return {"Check",
          {text_flag("--model", "NAME", "a small model by name (default: small, all of them)", flags.model),
           text_flag("--lowering", "NAME", "one strategy alone (default: all)", flags.lowering),
           choice_flag<Storage>("--storage", "numbers as they are kept and sent (default: fp32)", flags.storage,
                                {{"fp32", Storage::kFp32}, {"bf16", Storage::kBf16}}),
           text_flag("--hardware", "NAME", "a profile that prices the timed step (default: none)", flags.hardware),
           choice_flag<const BreakageKind*>("--break", "spoil the sharded runs, to see that it is noticed", flags.breakage, kinds)}};
}

std::vector<ModelSpec> models_of(const CheckFlags& flags) {
  std::vector<ModelSpec> all = small_models();
  if (flags.model == "small") return all;
  std::vector<std::string> names{"small"};
  for (const ModelSpec& model : all) names.push_back(model.name);
  std::erase_if(all, [&](const ModelSpec& model) { return model.name != flags.model; });
  if (all.empty()) throw InputError("--model", "\"" + flags.model + "\" is no small model", nearest_hint(flags.model, names));
  return all;
}

std::vector<CheckCase> cases_of(const CheckFlags& flags, std::int64_t ranks) {
  std::vector<CheckCase> cases = check_cases(models_of(flags), ranks);
  if (flags.lowering.empty()) return cases;
  std::vector<std::string> names;
  for (const CheckCase& c : cases) {
    if (std::find(names.begin(), names.end(), c.lowering) == names.end()) names.push_back(c.lowering);
  }
  std::erase_if(cases, [&](const CheckCase& c) { return c.lowering != flags.lowering; });
  if (cases.empty()) throw InputError("--lowering", "\"" + flags.lowering + "\" has nothing to run here", nearest_hint(flags.lowering, names));
  return cases;
}

CheckAnswer answer_of(const CheckFlags& flags, const CalibrationBackend& backend) {
  CheckAnswer answer{.backend = backend.name, .storage = flags.storage == Storage::kFp32 ? "fp32" : "bf16", .ranks = backend.ranks,
                     .processes = backend.transport == nullptr ? 1 : backend.transport->ranks(), .messages_between_devices = backend.messages_between_devices};
  std::optional<HardwareProfile> hardware;
  if (!flags.hardware.empty()) hardware = load_hardware(flags.hardware);
  const std::unique_ptr<Tamper> tamper = flags.breakage != nullptr ? flags.breakage->make() : nullptr;
  const CheckOptions options{.storage = flags.storage, .kernels = backend.kernels(flags.storage), .transport = backend.transport, .tamper = tamper.get(),
                             .timeout = backend.timeout, .hardware = hardware ? &*hardware : nullptr};
  const auto cases = cases_of(flags, backend.ranks);
  Progress progress("check", backend.first ? static_cast<std::int64_t>(cases.size()) : 0);
  for (const CheckCase& c : cases) {
    answer.rows.push_back(run_check(c, options));
    if (backend.first) progress.advance();
  }
  return answer;
}

}  // namespace

void run_calibrate_check(const Words& words) {
  CheckFlags flags;
  Output output;
  const CommandLine line{"shardplan calibrate check", kHelp, "shardplan calibrate check --backend host --ranks 4 --model dense",
                         {backend_flags(flags.backend), check_flags(flags), output_flags(output)}, {}};
  if (!parse_command_line(line, words)) return;
  check_output(output);
  const CalibrationBackend backend = open_backend(flags.backend);
  const CheckAnswer answer = answer_of(flags, backend);
  if (!backend.first) return;
  deliver(output, [&] { return check_table(answer); }, [&] { return check_document(answer); });
  const auto bad = std::count_if(answer.rows.begin(), answer.rows.end(), [](const CheckRow& row) { return !row.holds(); });
  if (bad > 0) throw NotAsExpected(fmt::format("{} of {} rows do not hold", bad, answer.rows.size()));
}

}  // namespace shardplan
