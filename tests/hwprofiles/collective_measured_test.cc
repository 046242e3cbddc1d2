// Prices against published measurements. The tolerances are what the model reaches, not what one would like:
// `collectives_test [measured] -s` prints the table.
#include <fmt/format.h>

#include <cmath>

#include "base/table.h"
#include "base/units.h"
#include "collective_groups.h"
#include "costmodel/collectives/collective.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

struct Measured {
  const char* machine;
  int ranks;
  CollectiveKind kind;
  bool graph;
  double bytes;
  double microseconds;
};

constexpr auto kReduce = CollectiveKind::kAllReduce;
constexpr auto kGather = CollectiveKind::kAllGather;
constexpr auto kScatter = CollectiveKind::kReduceScatter;
constexpr auto kExchange = CollectiveKind::kAllToAll;
constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi;

// Relative errors of the prices, printed row by row.
std::vector<double> errors_of(const std::vector<Measured>& rows) {
  Table table({{"machine", Table::Align::kLeft},
               {"ranks"},
               {"collective", Table::Align::kLeft},
               {"bytes"},
               {"measured"},
               {"predicted"},
               {"error"},
               {"by", Table::Align::kLeft}});
  std::vector<double> errors;
  for (const Measured& row : rows) {
    const HardwareProfile profile = load_hardware(row.machine);
    const CollectiveRequest request{.kind = row.kind, .message_bytes = row.bytes, .graph_captured = row.graph};
    const auto price = price_collective(request, first_ranks(profile, row.ranks), profile, PriceMode::kCalibrated);
    const double predicted = price.time.value() * 1e6;
    errors.push_back(predicted / row.microseconds - 1);
    table.add_row({row.machine, std::to_string(row.ranks),
                   std::string(collective_name(row.kind)) + (row.graph ? " graph" : ""),
                   format_bytes(Bytes(static_cast<std::int64_t>(row.bytes))), fmt::format("{:.1f}", row.microseconds),
                   fmt::format("{:.1f}", predicted), fmt::format("{:+.0f} %", errors.back() * 100),
                   std::string(price.algorithm)});
  }
  SUCCEED("\n" + table.text());
  return errors;
}

double mean_magnitude(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += std::abs(error);
  return sum / static_cast<double>(errors.size());
}

double worst_magnitude(const std::vector<double>& errors) {
  double worst = 0;
  for (const double error : errors) worst = std::isnan(error) ? INFINITY : std::max(worst, std::abs(error));
  return worst;
}

TEST_CASE("NCCL inside a node of eight is priced within 25 %, 8 % on the mean", "[measured]") {
  std::vector<Measured> rows;
  const auto add = [&](const char* machine, CollectiveKind kind,
                       std::initializer_list<std::pair<double, double>> points) {
    for (const auto& [bytes, time] : points) rows.push_back({machine, 8, kind, false, bytes, time});
  };
  add("a100", kReduce,
      {{kKi, 21.8},
       {256 * kKi, 27.5},
       {512 * kKi, 30.1},
       {2 * kMi, 53.7},
       {16 * kMi, 216},
       {128 * kMi, 1169},
       {512 * kMi, 4226}});
  add("h100", kReduce,
      {{kKi, 15.6},
       {256 * kKi, 19.1},
       {512 * kKi, 20.1},
       {2 * kMi, 38.2},
       {16 * kMi, 122},
       {128 * kMi, 579},
       {512 * kMi, 2111}});
  add("h200", kReduce,
      {{kKi, 16.8},
       {256 * kKi, 20.8},
       {512 * kKi, 20.5},
       {2 * kMi, 37.5},
       {16 * kMi, 122},
       {128 * kMi, 564},
       {512 * kMi, 2040}});
  add("b200", kReduce,
      {{kKi, 25.2},
       {256 * kKi, 28.3},
       {512 * kKi, 28.4},
       {2 * kMi, 32.1},
       {16 * kMi, 99},
       {128 * kMi, 398},
       {512 * kMi, 1335}});
  add("h100", kGather, {{kKi, 10.4}, {256 * kKi, 13.6}, {2 * kMi, 22.2}, {16 * kMi, 68.9}, {128 * kMi, 393}});
  add("h100", kScatter, {{kKi, 10.4}, {256 * kKi, 12.2}, {2 * kMi, 17.9}, {16 * kMi, 69.7}, {128 * kMi, 382}});
  add("h100", kExchange, {{256 * kKi, 12.9}, {2 * kMi, 18.6}, {16 * kMi, 75.7}, {128 * kMi, 402}});
  add("b200", kGather, {{kKi, 16.0}, {256 * kKi, 18.4}, {2 * kMi, 24.4}, {128 * kMi, 207}});
  add("b200", kScatter, {{kKi, 16.7}, {256 * kKi, 18.3}, {2 * kMi, 21.0}, {128 * kMi, 208}});
  add("b200", kExchange, {{kKi, 11}, {256 * kKi, 17.5}, {2 * kMi, 22.1}, {16 * kMi, 50.1}, {128 * kMi, 237}});
  const auto errors = errors_of(rows);
  CHECK(mean_magnitude(errors) < 0.08);
  CHECK(worst_magnitude(errors) < 0.25);
}

TEST_CASE("all-reduces of a CUDA graph on eight H200 are priced within 12 %", "[measured]") {
  std::vector<Measured> rows;
  for (const auto& [bytes, time] : std::initializer_list<std::pair<double, double>>{{256, 4.7},
                                                                                    {16 * kKi, 5.2},
                                                                                    {64 * kKi, 6.6},
                                                                                    {128 * kKi, 7.9},
                                                                                    {256 * kKi, 10.1},
                                                                                    {512 * kKi, 11.1},
                                                                                    {kMi, 14.1},
                                                                                    {2 * kMi, 18.1},
                                                                                    {4 * kMi, 28.4},
                                                                                    {8 * kMi, 48.4},
                                                                                    {16 * kMi, 87.2},
                                                                                    {64 * kMi, 323},
                                                                                    {512 * kMi, 2035}}) {
    rows.push_back({"h200", 8, kReduce, true, bytes, time});
  }
  const auto errors = errors_of(rows);
  CHECK(mean_magnitude(errors) < 0.05);
  CHECK(worst_magnitude(errors) < 0.12);
}

TEST_CASE("all-reduces over many nodes, the fit's own 64 H100 within 10 %", "[measured]") {
  const auto errors = errors_of({{"h100", 64, kReduce, false, 512 * kMi, 2985},
                                 {"h100", 64, kReduce, false, kGi, 5808},
                                 {"h100", 64, kReduce, false, 8 * kGi, 43980}});
  CHECK(worst_magnitude(errors) < 0.10);
}

TEST_CASE("all-reduces over a rack of 72, the fit's own within 10 %", "[measured]") {
  const auto errors = errors_of({{"gb200", 72, kReduce, false, 512 * kMi, 1807},
                                 {"gb200", 72, kReduce, false, kGi, 3109},
                                 {"gb200", 72, kReduce, false, 8 * kGi, 20299}});
  CHECK(worst_magnitude(errors) < 0.10);
}

TEST_CASE("two nodes of eight H20, priced as H200 whose links are the same, within 50 %", "[measured]") {
  // Not fitted. 1 and 4 MiB were measured at a plateau of 122 to 128 us that no row here has.
  const auto errors = errors_of({{"h200", 16, kReduce, false, 512, 47},
                                 {"h200", 16, kReduce, false, 16 * kMi, 203},
                                 {"h200", 16, kReduce, false, 64 * kMi, 468}});
  CHECK(worst_magnitude(errors) < 0.50);
}

TEST_CASE("the eager floors reported for eight H200 hold within x0.6 to x1.6", "[measured]") {
  for (const double error :
       errors_of({{"h200", 8, kReduce, false, 256 * kKi, 22.58}, {"h200", 8, kReduce, false, 512 * kKi, 33}})) {
    CHECK(error > -0.4);
    CHECK(error < 0.6);
  }
}

TEST_CASE("expert dispatch over nodes of eight H200 (DeepEP low latency, 128 tokens, top 8) within 40 %",
          "[measured]") {
  // 128 * 8 copies of 7168 + 224 + 16 B; message = ranks * largest part, so that (N-1)/N of it leaves the rank.
  constexpr double kDispatched = 128.0 * 8 * 7408;
  const auto errors = errors_of({{"h200", 16, kExchange, true, kDispatched, 102},
                                 {"h200", 32, kExchange, true, kDispatched, 143},
                                 {"h200", 64, kExchange, true, kDispatched, 167}});
  CHECK(worst_magnitude(errors) < 0.40);
}

// Published of vLLM on eight H100: NCCL's symmetric kernels beat its own all-reduce from 128 KiB on, and lose to it between
// 16 KiB and there; its kernel over multicast takes 87 us for 16 MiB.
TEST_CASE("Registered buffers pay where NCCL's symmetric kernels are said to, and never beat the switch") {
  const HardwareProfile h100 = load_hardware("h100-sxm");
  const GroupLinks eight = first_ranks(h100, 8);
  const auto priced = [&](double bytes, bool symmetric) {
    return price_collective({.kind = kReduce, .message_bytes = bytes, .symmetric = symmetric}, eight, h100, PriceMode::kCalibrated);
  };
  CHECK(priced(64 * kKi, true).algorithm != "symmetric");
  CHECK(priced(256 * kKi, true).algorithm == "symmetric");
  CHECK(priced(256 * kKi, true).time < priced(256 * kKi, false).time);
  CHECK(priced(256 * kKi, false).algorithm != "symmetric");
  CHECK(priced(16 * kMi, true).time.value() * 1e6 == Approx(87).epsilon(0.15));
  for (double bytes = kKi; bytes < kGi; bytes *= 4) {
    for (const CollectiveKind kind : {kReduce, kGather, kScatter}) {
      const CollectiveRequest request{.kind = kind, .message_bytes = bytes, .symmetric = true};
      CHECK(price_collective(request, eight, h100, PriceMode::kCalibrated).time >= collective_lower_bound(request, eight));
    }
  }
  const CollectiveRequest far{.kind = kReduce, .message_bytes = kMi, .symmetric = true};
  CHECK(price_collective(far, first_ranks(h100, 16), h100, PriceMode::kCalibrated).algorithm != "symmetric");
}

}  // namespace
}  // namespace shardplan
