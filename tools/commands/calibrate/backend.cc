#include "tools/commands/calibrate/backend.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "calibrate/device_module.h"
#include "tools/cli/flag_builders.h"
#ifdef SHARDPLAN_HAS_MPI
#include "calibrate/mpi/mpi_transport.h"
#endif

namespace shardplan {
namespace {

constexpr std::int64_t kMostRanks = 64;

std::shared_ptr<Transport> launched_transport() {
#ifdef SHARDPLAN_HAS_MPI
  if (launched_by_mpi()) return join_mpi();
#endif
  return nullptr;
}

}  // namespace

FlagGroup backend_flags(BackendFlags& flags) {
  return {"Ranks",
          {choice_flag<bool>("--backend", "where kernels run (default: host)", flags.cuda, {{"host", false}, {"cuda", true}}),
           count_flag("--ranks", "ranks to use (default: the launcher's processes; else 4 threads)", flags.ranks, {1, kMostRanks}),
           count_flag("--timeout-ms", "how long a rank waits for another before it is called lost (default: 10000)", flags.timeout_ms, {1, 3'600'000})}};
}

CalibrationBackend open_backend(const BackendFlags& flags, std::int64_t otherwise) {
  CalibrationBackend backend;
  if (flags.cuda) {
    backend.name = "cuda";
    backend.device = load_device("shardplan_cuda.so");
  }
  backend.timeout = std::chrono::milliseconds(flags.timeout_ms.value_or(10000));
  backend.transport = launched_transport();
  if (backend.transport == nullptr) {
    backend.ranks = flags.ranks.value_or(otherwise);
    return backend;
  }
  const std::int64_t processes = backend.transport->ranks();
  backend.ranks = flags.ranks.value_or(processes);
  backend.first = backend.transport->local_ranks(1).size() == 1;
  if (backend.ranks > processes) {
    throw InputError("--ranks", fmt::format("{} ranks, but the launcher started {} processes", backend.ranks, processes), fmt::format("at most {}", processes));
  }
  return backend;
}

}  // namespace shardplan
