// What a log of NCCL_DEBUG=INFO says about how ranks reach one another.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

struct NcclLog {
  std::string version;                                // "2.21.5+cuda12.4"; "" not said
  std::map<std::string, int> transports;              // "P2P", "SHM", "NET/IB", "NET/Socket" -> channels
  int direct_network_channels = 0;                    // GPUDirect RDMA
  std::map<std::string, std::string> variables;       // set by the environment
  std::set<std::string> hosts;                        // that lines come from
  std::vector<std::string> p2p_disabled;              // lines that say so
  bool no_infiniband = false;                         // "NET/IB : No device found"
  bool uses_socket = false;                           // "Using network Socket"
  bool uses_nvls = false;
  std::vector<std::string> warnings;                  // lines with WARN
};

// InputError naming `where` when no line is NCCL's.
[[nodiscard]] NcclLog read_nccl_log(std::string_view text, const std::string& where);

}  // namespace shardplan
