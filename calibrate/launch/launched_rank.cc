#include "calibrate/launch/launched_rank.h"

#include <charconv>
#include <cstdlib>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr int kMostRanks = 1 << 16;
constexpr int kTorchPort = 29500;  // torchrun's own
constexpr int kFirstSlurmPort = 20000;
constexpr int kSlurmPorts = 20000;

class Variables {
 public:
  explicit Variables(const ReadVariable& read) : read_(read) {}

  [[nodiscard]] std::string text(const char* name) const {
    const char* value = read_(name);
    return value == nullptr ? "" : value;
  }
  [[nodiscard]] bool has(const char* name) const { return !text(name).empty(); }

  [[nodiscard]] int number(const char* name, int low, int high) const {
    const std::string value = text(name);
    int result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < low || result > high) {
      throw InputError(std::string("variable ") + name, "is \"" + value + "\"",
                       "a number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return result;
  }
  [[nodiscard]] int number_or(const char* name, int otherwise, int low, int high) const {
    return has(name) ? number(name, low, high) : otherwise;
  }

 private:
  const ReadVariable& read_;
};

LaunchedRank torch_rank(const Variables& v) {
  LaunchedRank result;
  result.ranks = v.number("WORLD_SIZE", 1, kMostRanks);
  result.rank = v.number("RANK", 0, result.ranks - 1);
  result.local_rank = v.number_or("LOCAL_RANK", result.rank, 0, kMostRanks);
  result.launcher = v.has("TORCHELASTIC_RUN_ID") ? "torchrun" : "RANK and WORLD_SIZE";
  if (result.ranks == 1) return result;
  result.address = v.text("MASTER_ADDR");
  if (result.address.empty())
    throw InputError("variable MASTER_ADDR", "is missing beside RANK and WORLD_SIZE", "the address of rank 0's host");
  result.port = v.number_or("MASTER_PORT", kTorchPort, 1, 65534);
  // torchrun's agent listens on that port itself.
  if (v.text("TORCHELASTIC_USE_AGENT_STORE") == "True") ++result.port;
  return result;
}

LaunchedRank slurm_rank(const Variables& v) {
  LaunchedRank result;
  result.ranks = v.number("SLURM_STEP_NUM_TASKS", 1, kMostRanks);
  result.rank = v.number("SLURM_PROCID", 0, result.ranks - 1);
  result.local_rank = v.number_or("SLURM_LOCALID", result.rank, 0, kMostRanks);
  result.launcher = "srun";
  if (result.ranks == 1) return result;
  result.address = v.has("MASTER_ADDR") ? v.text("MASTER_ADDR") : first_host(v.text("SLURM_STEP_NODELIST"));
  if (result.address.empty())
    throw InputError("variable SLURM_STEP_NODELIST", "is missing", "the hosts of the step, or MASTER_ADDR");
  const int own = v.number_or("SLURM_JOB_ID", 0, 0, 2147483647) % kSlurmPorts +
                  v.number_or("SLURM_STEP_ID", 0, 0, 2147483647) % 100;
  result.port = v.number_or("MASTER_PORT", kFirstSlurmPort + own, 1, 65535);
  return result;
}

const char* from_environment(const char* name) { return std::getenv(name); }

}  // namespace

std::string first_host(std::string_view list) {
  const std::size_t open = list.find('[');
  const std::size_t comma = list.find(',');
  if (open == std::string_view::npos || comma < open) return std::string(list.substr(0, comma));
  const std::size_t end = list.find_first_of("-,]", open);
  if (end == std::string_view::npos) return "";
  return std::string(list.substr(0, open)) + std::string(list.substr(open + 1, end - open - 1));
}

std::optional<LaunchedRank> launched_rank(const ReadVariable& variable) {
  const Variables v(variable);
  if (v.has("RANK") && v.has("WORLD_SIZE")) return torch_rank(v);
  if (v.has("SLURM_PROCID") && v.has("SLURM_STEP_NUM_TASKS"))
    return slurm_rank(v);  // a batch script has no step of its own
  return std::nullopt;
}

int local_rank(const ReadVariable& variable) {
  const Variables v(variable);
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (v.has(name)) return v.number(name, 0, kMostRanks);
  }
  const auto self = launched_rank(variable);  // by hand: RANK alone, all on one node
  return self ? self->local_rank : 0;
}

std::optional<LaunchedRank> launched_rank() { return launched_rank(from_environment); }
int local_rank() { return local_rank(from_environment); }

}  // namespace shardplan
