#include "calibrate/cuda/expert_products.h"

#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/index_logic.h"

namespace shardplan::cuda {

ForkedStreams::ForkedStreams(const OwnedStream& main, int count) : main_(main) {
  for (int i = 0; i < count; ++i) branches_.push_back(std::make_unique<Branch>());
}

void ForkedStreams::fork() {
  begun_.record(main_.get());
  for (const auto& branch : branches_) check(cudaStreamWaitEvent(branch->stream.get(), begun_.get(), 0), "fork");
}

void ForkedStreams::join() {
  for (const auto& branch : branches_) {
    branch->done.record(branch->stream.get());
    check(cudaStreamWaitEvent(main_.get(), branch->done.get(), 0), "join");
  }
}

SingleProducts::SingleProducts(const BlasLt& library, ForkedStreams& streams, const std::vector<std::int64_t>& rows,
                               const ProductShapes& shape)
    : streams_(streams), rows_(rows), shape_(shape), products_(streams.size()) {
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::size_t branch = e % streams.size();
    auto& product = products_[branch][rows[e]];
    if (rows[e] == 0 || product != nullptr) continue;
    ProductShapes own = shape;
    own.m = rows[e];
    product = std::make_unique<BlasLtProduct>(library, own, streams.workspace(branch));
    served_ = served_ && product->is_served();
  }
}

void SingleProducts::run(const Buffer<char>& x, const Buffer<char>& weights, const Buffer<char>& out) {
  const std::int64_t in = bytes_of(shape_.format);
  const std::int64_t made = shape_.format == ProductFormat::kFp32 || shape_.fp32_out ? 4 : 2;
  streams_.fork();
  std::int64_t first = 0;
  for (std::size_t e = 0; e < rows_.size(); first += rows_[e], ++e) {
    if (rows_[e] == 0) continue;
    const std::size_t branch = e % streams_.size();
    const auto expert = static_cast<std::int64_t>(e);
    products_[branch].at(rows_[e])->run(x.get() + first * shape_.k * in,
                                        weights.get() + expert * shape_.n * shape_.k * in,
                                        out.get() + first * shape_.n * made, streams_.stream(branch));
  }
  streams_.join();
}

}  // namespace shardplan::cuda
