// The re-implementation of NCCL's choice against predictions of the library's own model.
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "costmodel/collectives/nccl_tuner.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Fields = std::vector<std::string>;

// Rows of a file of vectors, without its heading; empty when the reference is not there.
std::vector<Fields> vectors(const std::string& name) {
  const char* root = std::getenv("SHARDPLAN_SHARED");
  std::ifstream file(std::string(root == nullptr ? "" : root) + "/vectors/" + name);
  std::vector<Fields> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream stream(line);
    rows.emplace_back();
    for (std::string field; std::getline(stream, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

CollectiveKind kind_of(const std::string& name) {
  if (name == "ar" || name == "AR") return CollectiveKind::kAllReduce;
  return name == "ag" || name == "AG" ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter;
}

const std::map<std::string, NcclSystem>& systems() {
  static const std::map<std::string, NcclSystem> kSystems{
      {"8xA100", nccl_a100()},       {"8xH100", nccl_hopper(1)},     {"2x8xH100", nccl_hopper(2)},     {"4x8xH100", nccl_hopper(4)},
      {"16x8xH100", nccl_hopper(16)}, {"8xB200", nccl_b200()}, {"72xGB200", nccl_gb200_rack()}};
  return kSystems;
}

TEST_CASE("NCCL's choice of algorithm and protocol, and its time, on seven systems from 1 KiB to 4 GiB") {
  const std::vector<Fields> rows = vectors("nccl_tuner.csv");
  if (rows.empty()) {
    WARN("skipped: no vectors/nccl_tuner.csv in SHARDPLAN_SHARED");
    return;
  }
  CHECK(rows.size() == 294);
  for (const Fields& row : rows) {
    INFO(row[0] << " " << row[1] << " " << row[2]);
    const NcclPrediction choice = nccl_choice(systems().at(row[0]), kind_of(row[1]), std::stod(row[2]));
    CHECK(nccl_name(choice.algorithm) == row[3]);
    CHECK(nccl_name(choice.protocol) == row[4]);
    CHECK(choice.microseconds == Approx(std::stod(row[5])).margin(1e-4));
  }
}

TEST_CASE("Four predictions that NCCL logged itself, on 3 nodes of 8 H100 with a plain tree") {
  NcclSystem system = nccl_hopper(3);
  system.plain_tree = true;
  system.counts_both_ways = true;
  system.channels = 16;
  system.bandwidth_inter = 12;
  const auto us = [&](NcclAlgorithm algorithm, NcclProtocol protocol, double bytes) {
    return nccl_microseconds(system, CollectiveKind::kAllReduce, algorithm, protocol, bytes);
  };
  CHECK(us(NcclAlgorithm::kTree, NcclProtocol::kLl, 4096) == Approx(25.874907).epsilon(1e-6));
  CHECK(us(NcclAlgorithm::kTree, NcclProtocol::kLl, 8192) == Approx(26.549810).epsilon(1e-6));
  CHECK(us(NcclAlgorithm::kRing, NcclProtocol::kSimple, 512.0 * (1 << 20)) == Approx(5679.147949).epsilon(1e-6));
  CHECK(us(NcclAlgorithm::kRing, NcclProtocol::kSimple, 1024.0 * (1 << 20)) == Approx(11038.536133).epsilon(1e-6));
}

TEST_CASE("NCCL's kernels over symmetric memory: which, how long, how many blocks") {
  const std::vector<Fields> rows = vectors("nccl_symmetric.csv");
  if (rows.empty()) {
    WARN("skipped: no vectors/nccl_symmetric.csv in SHARDPLAN_SHARED");
    return;
  }
  CHECK(rows.size() == 108);
  for (const Fields& row : rows) {
    INFO(row[0] << " " << row[1] << " " << row[2] << " " << row[3]);
    const NcclArch arch = row[0] == "900" ? NcclArch::kHopper : NcclArch::kBlackwell;
    const SymmetricPrediction choice = nccl_symmetric(arch, std::stoi(row[1]), kind_of(row[2]), std::stod(row[3]));
    CHECK(choice.kernel == row[4]);
    CHECK(choice.microseconds == Approx(std::stod(row[5])).margin(1e-3));
    CHECK(choice.blocks == std::stoi(row[6]));
  }
}

TEST_CASE("The switch is not used across nodes without a tree over them, nor where it does not reduce") {
  CHECK(nccl_microseconds(nccl_hopper(2), CollectiveKind::kAllReduce, NcclAlgorithm::kNvls, NcclProtocol::kSimple, 1e8) < 0);
  CHECK(nccl_microseconds(nccl_hopper(1), CollectiveKind::kAllReduce, NcclAlgorithm::kNvlsTree, NcclProtocol::kSimple, 1e8) < 0);
  CHECK(nccl_microseconds(nccl_a100(), CollectiveKind::kAllReduce, NcclAlgorithm::kNvls, NcclProtocol::kSimple, 1e8) < 0);
}

}  // namespace
}  // namespace shardplan
