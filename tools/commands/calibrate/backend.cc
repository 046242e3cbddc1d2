#include "tools/commands/calibrate/backend.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "calibrate/byte_stream.h"
#include "calibrate/device_module.h"
#include "calibrate/launch/socket_wire.h"
#include "calibrate/payload_transport.h"
#include "calibrate/run/host_device.h"
#include "calibrate/thread_transport.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/program.h"
#ifdef SHARDPLAN_HAS_MPI
#include "calibrate/mpi/mpi_transport.h"
#endif

namespace shardplan {
namespace {

constexpr std::int64_t kMostRanks = 64;
constexpr std::chrono::milliseconds kLeastPatience{60'000};   // until all processes have started

std::shared_ptr<Transport> launched_transport(std::chrono::milliseconds timeout) {
#ifdef SHARDPLAN_HAS_MPI
  if (launched_by_mpi()) return join_mpi();
#endif
  const auto self = launched_rank();
  if (!self || self->ranks == 1) return nullptr;
  return std::make_shared<LetterTransport>(connect_sockets(*self, program_version(), std::max(timeout, kLeastPatience)));
}

// All processes must compute alike: the same program, the same libraries.
void require_alike(Transport& transport, std::map<std::string, std::string> libraries, std::chrono::milliseconds timeout) {
  for (const char* of_machine : {"cpufreq governor", "CUDA driver"}) libraries.erase(of_machine);
  libraries["shardplan"] = program_version();
  ByteWriter out;
  for (const auto& [name, version] : libraries) {
    out.text(name);
    out.text(version);
  }
  const auto all = transport.share(out.take(), timeout);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    ByteReader first(all[0]);
    ByteReader other(all[rank]);
    for (std::size_t i = 0; i < libraries.size(); ++i) {
      const std::string name = first.text();
      const std::string at_first = first.text();
      const std::string other_name = other.text();
      const std::string at_other = other.text();
      if (name == other_name && at_first == at_other) continue;
      throw EnvironmentError(fmt::format("rank {} has {} {}, rank 0 has {} {}: all ranks must run the same", rank, other_name, at_other, name, at_first));
    }
  }
}

// Numbers go from device to device where each rank has its own.
void send_between_devices(CalibrationBackend& backend, std::shared_ptr<Transport> envelopes, std::chrono::milliseconds timeout) {
  if (backend.device == nullptr) return;
  auto mover = backend.device->mover(*envelopes, timeout);
  if (mover == nullptr) return;
  backend.messages_between_devices = true;
  backend.transport = std::make_shared<PayloadTransport>(std::move(envelopes), std::move(mover));
}

}  // namespace

FlagGroup backend_flags(BackendFlags& flags) {
  return {"Ranks",
          {choice_flag<bool>("--backend", "where kernels run (default: host)", flags.cuda, {{"host", false}, {"cuda", true}}),
           count_flag("--ranks", fmt::format("ranks to use (default: the launcher's processes; else {} threads)", flags.ranks_otherwise), flags.ranks, {1, kMostRanks}),
           count_flag("--timeout-ms", fmt::format("how long a rank waits for another before it is called lost (default: {})", flags.timeout_otherwise), flags.timeout_ms,
                      {1, 3'600'000})}};
}

CalibrationBackend open_backend(const BackendFlags& flags) {
  CalibrationBackend backend;
  if (flags.cuda) {
    backend.name = "cuda";
    backend.device = load_device("shardplan_cuda.so");
  }
  backend.timeout = std::chrono::milliseconds(flags.timeout_ms.value_or(flags.timeout_otherwise));
  backend.transport = launched_transport(backend.timeout);
  if (backend.transport == nullptr) {
    backend.ranks = flags.ranks.value_or(flags.ranks_otherwise);
    send_between_devices(backend, std::make_shared<ThreadTransport>(static_cast<int>(backend.ranks)), backend.timeout);
    return backend;
  }
  if (backend.transport->several_processes()) {
    require_alike(*backend.transport, backend.device != nullptr ? backend.device->header().libraries : host_header().libraries, std::max(backend.timeout, kLeastPatience));
  }
  const std::int64_t processes = backend.transport->ranks();
  backend.ranks = flags.ranks.value_or(processes);
  backend.first = backend.transport->local_ranks(1).size() == 1;
  if (backend.ranks > processes) {
    throw InputError("--ranks", fmt::format("{} ranks, but the launcher started {} processes", backend.ranks, processes), fmt::format("at most {}", processes));
  }
  send_between_devices(backend, backend.transport, std::max(backend.timeout, kLeastPatience));
  return backend;
}

}  // namespace shardplan
