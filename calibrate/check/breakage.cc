#include "calibrate/check/breakage.h"

#include <algorithm>

#include "calibrate/kernels/moe.h"

namespace shardplan {
namespace {

class SwapRanks : public Tamper {
 public:
  int weights_of(int rank) override { return rank < 2 ? 1 - rank : rank; }
};

class DropLse : public Tamper {
 public:
  void on_send(const Operation&, Payload payload, int, int, std::vector<float>& values) override {
    if (payload == Payload::kLse) std::fill(values.begin(), values.end(), 0.0F);
  }
};

class HalveMessage : public Tamper {
 public:
  void on_send(const Operation&, Payload, int, int, std::vector<float>& values) override {
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end(), 0.0F);
  }
};

class IgnoreCapacity : public Tamper {
 public:
  void on_drop(int rank, DropRule& rule) override {
    if (rank == 0) rule.capacity_factor_ratio = 1e6;
  }
};

class DropFirst : public Tamper {
 public:
  void on_drop(int rank, DropRule& rule) override { rule.last_first = rank == 0; }
};

template <class T>
std::unique_ptr<Tamper> make() {
  return std::make_unique<T>();
}

}  // namespace

const std::vector<BreakageKind>& breakage_kinds() {
  static const std::vector<BreakageKind> kKinds{
      {"swap_ranks", "ranks 0 and 1 of a stage take each other's weights", make<SwapRanks>},
      {"drop_lse", "log-sum-exp is sent as zeros", make<DropLse>},
      {"ignore_capacity", "rank 0 of a stage drops no token that its experts have no room for", make<IgnoreCapacity>},
      {"drop_first", "rank 0 of a stage drops the first tokens over an expert's capacity instead of the last", make<DropFirst>},
      {"halve_message", "the second half of every message is zeros", make<HalveMessage>},
  };
  return kKinds;
}

}  // namespace shardplan
