#include "calibrate/doctor/nccl_log.h"

#include <sstream>

#include "base/errors.h"

namespace shardplan {
namespace {

bool has(const std::string& line, std::string_view part) { return line.find(part) != std::string::npos; }

std::string word_after(const std::string& line, std::string_view part) {
  const std::size_t at = line.find(part);
  if (at == std::string::npos) return "";
  std::istringstream rest(line.substr(at + part.size()));
  std::string word;
  rest >> word;
  return word;
}

// "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA"
void read_channel(const std::string& line, NcclLog& log) {
  const std::string via = word_after(line, " via ");
  if (via.empty()) return;
  const std::size_t first = via.find('/');
  std::string kind = via.substr(0, first);
  if (kind == "NET") kind = via.substr(0, via.find('/', first + 1));
  ++log.transports[kind];
  if (has(via, "GDRDMA")) ++log.direct_network_channels;
}

// "NCCL_ALGO set by environment to Ring", also with a dot at the end.
void read_variable(const std::string& line, NcclLog& log) {
  const std::size_t set = line.find(" set by environment to ");
  if (set == std::string::npos) return;
  const std::size_t start = line.rfind("NCCL_", set);
  if (start == std::string::npos) return;
  std::string value = word_after(line, "set by environment to ");
  if (value.ends_with('.')) value.pop_back();
  log.variables[line.substr(start, set - start)] = value;
}

}  // namespace

NcclLog read_nccl_log(std::string_view text, const std::string& where) {
  NcclLog log;
  bool any = false;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!has(line, "NCCL")) continue;
    any = true;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon > 0) log.hosts.insert(line.substr(0, colon));
    if (has(line, "Channel ")) read_channel(line, log);
    read_variable(line, log);
    if (has(line, "NCCL version ")) log.version = word_after(line, "NCCL version ");
    if (has(line, "NET/IB : No device found")) log.no_infiniband = true;
    if (has(line, "Using network Socket") || has(line, "Using NET/Socket")) log.uses_socket = true;
    if (has(line, "NVLS") && has(line, "comm") && !has(line, "not available")) log.uses_nvls = true;
    if (has(line, "P2P is disabled") || has(line, "Peer access is not") || has(line, "P2P disabled")) log.p2p_disabled.push_back(line);
    if (has(line, "WARN")) log.warnings.push_back(line);
  }
  if (!any) throw InputError(where, "holds no line of NCCL", "the log of a run with NCCL_DEBUG=INFO");
  return log;
}

}  // namespace shardplan
