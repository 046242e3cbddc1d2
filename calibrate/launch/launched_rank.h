// Which rank of how many this process is, as launchers tell it by variables: torchrun's RANK, WORLD_SIZE, MASTER_ADDR
// and MASTER_PORT (which many scripts set by hand), or those of Slurm's srun. Launchers of MPI are MPI's business.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardplan {

struct LaunchedRank {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;   // on its node
  std::string address;  // where rank 0 waits for the others; empty with one rank
  int port = 0;
  std::string launcher;  // "torchrun", "srun", "RANK and WORLD_SIZE"
};

using ReadVariable = std::function<const char*(const char* name)>;  // nullptr: not set

// nullopt where no launcher speaks. InputError for numbers that are none, a rank outside the world, no address of rank
// 0.
[[nodiscard]] std::optional<LaunchedRank> launched_rank(const ReadVariable& variable);
// The same from the environment.
[[nodiscard]] std::optional<LaunchedRank> launched_rank();

// Of this process on its node, by whatever launcher (MPI's too); where none says, its rank, or 0. InputError for what
// is no number.
[[nodiscard]] int local_rank(const ReadVariable& variable);
[[nodiscard]] int local_rank();

// First host of Slurm's list: "gpu[03-07,11],login1" is "gpu03".
[[nodiscard]] std::string first_host(std::string_view list);

}  // namespace shardplan
