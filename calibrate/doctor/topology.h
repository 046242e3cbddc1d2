// The matrix that `nvidia-smi topo -m` prints: how each pair of GPUs and NICs is joined, and where each GPU's memory is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// The shortest path between two devices, best first: "NV18" (bonded NVLinks), then "PIX", "PXB" (PCIe switches), "PHB" (host bridge),
// "NODE" (bridges of one NUMA node), "SYS" (between sockets).
struct Topology {
  std::vector<std::string> gpus;                               // "GPU0", ...
  std::vector<std::string> nics;                               // "NIC0" or "mlx5_0", ...; names of the legend where it has them
  std::map<std::pair<std::string, std::string>, std::string> links;
  std::map<std::string, std::string> numa;                     // of each GPU, "" unknown

  [[nodiscard]] std::string link(const std::string& a, const std::string& b) const;   // "" unknown
  [[nodiscard]] bool has_nvlink(const std::string& a, const std::string& b) const { return link(a, b).starts_with("NV"); }
};

// `where` names the text in errors. InputError when it holds no GPU row.
[[nodiscard]] Topology read_topology(std::string_view text, const std::string& where);

}  // namespace shardplan
