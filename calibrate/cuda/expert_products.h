// The products of routed experts, rows of expert e times its own weights: in one grouped call, or one by one on several
// streams.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "calibrate/cuda/blaslt_product.h"
#include "calibrate/cuda/memory.h"

namespace shardplan::cuda {

// Streams that fork from one and come back to it, also while it is captured.
class ForkedStreams {
 public:
  explicit ForkedStreams(const OwnedStream& main, int count);
  // What follows on the branches comes after what is on the main stream; what follows there after all branches.
  void fork();
  void join();
  [[nodiscard]] std::size_t size() const { return branches_.size(); }
  [[nodiscard]] cudaStream_t stream(std::size_t i) const { return branches_[i]->stream.get(); }
  [[nodiscard]] void* workspace(std::size_t i) const { return branches_[i]->workspace.get(); }

 private:
  struct Branch {
    OwnedStream stream;
    Event done;
    Buffer<char> workspace{static_cast<std::int64_t>(BlasLtProduct::kWorkspace)};
  };
  const OwnedStream& main_;
  Event begun_;
  std::vector<std::unique_ptr<Branch>> branches_;
};

// out[rows, n] = x[rows, k] w[e, n, k]^T for each expert with rows, on cuBLASLt. Rows lie one behind the other in `x`
// and `out`, experts' matrices in `weights`.
class SingleProducts {
 public:
  SingleProducts(const BlasLt& library, ForkedStreams& streams, const std::vector<std::int64_t>& rows,
                 const ProductShapes& shape);
  [[nodiscard]] bool is_served() const { return served_; }
  void run(const Buffer<char>& x, const Buffer<char>& weights, const Buffer<char>& out);

 private:
  ForkedStreams& streams_;
  std::vector<std::int64_t> rows_;
  ProductShapes shape_;
  bool served_ = true;
  std::vector<std::map<std::int64_t, std::unique_ptr<BlasLtProduct>>> products_;  // of each branch, by rows
};

}  // namespace shardplan::cuda
