#include "calibrate/cuda/cuda_kernels.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "calibrate/cuda/index_logic.h"
#include "calibrate/cuda/launchers.h"
#include "calibrate/kernels/matmul.h"
#include "calibrate/kernels/norm.h"
#include "calibrate/token_id.h"

namespace shardplan::cuda {
namespace {

constexpr std::int64_t kDecodeTile = 32;

std::vector<std::int64_t> places_of(const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> places;
  for (const std::int64_t id : ids) {
    places.push_back(request_of(id));
    places.push_back(position_of(id));
  }
  return places;
}

// Blocks of keys are attended to as they come, each merged into what there is by log-sum-exp.
class CudaAttention : public BlockAttention {
 public:
  CudaAttention(const AttentionTask& task, const LocalArray& q, const LocalArray& out)
      : task_(task), heads_(out.ids(Dim::kHeads)), tokens_(out.ids(Dim::kTokens)), q_(rows_of(q, out)), places_(places_of(tokens_)),
        out_(rows() * task.op.v_dim), lse_(rows()) {}

  void add(const LocalArray& k, const LocalArray& v) override {
    const auto& keys = k.dims.front().ids;
    if (keys.empty() || rows() == 0) return;
    ensure(v.dims.front().ids == keys && k.columns() == task_.op.qk_dim && v.columns() >= task_.op.v_dim, "K and V of other shapes");
    const KernelBuffer<float> k_buffer(k.values);
    const KernelBuffer<float> v_buffer(v.values);
    const KernelBuffer<std::int64_t> key_places(places_of(keys));
    const KernelBuffer<std::int64_t> kv_heads(kv_heads_of(k));
    KernelBuffer<float> part(first_ ? 0 : out_.size());
    KernelBuffer<float> part_lse(first_ ? 0 : lse_.size());
    const AttentionLaunch launch{.q = q_.get(), .k = k_buffer.get(), .v = v_buffer.get(), .query_places = places_.get(), .key_places = key_places.get(),
                                 .kv_head_of_head = kv_heads.get(), .out = first_ ? out_.get() : part.get(), .lse = first_ ? lse_.get() : part_lse.get(),
                                 .tokens = static_cast<std::int64_t>(tokens_.size()), .heads = static_cast<std::int64_t>(heads_.size()),
                                 .kv_heads = k.rows() / static_cast<std::int64_t>(keys.size()), .keys = static_cast<std::int64_t>(keys.size()),
                                 .qk_dim = task_.op.qk_dim, .v_dim = task_.op.v_dim, .v_stride = v.columns(), .window = task_.op.window,
                                 .scale = static_cast<float>(task_.op.score_scale), .causal = task_.op.causal};
    if (task_.op.phase == Phase::kDecode) {
      const std::int64_t splits = decode_splits(rows(), launch.keys, kDecodeTile, multiprocessors());
      const KernelBuffer<float> scratch(decode_scratch_floats(launch, splits));
      launch_decode_attention(launch, splits, scratch.get(), nullptr);
    } else {
      launch_prefill_attention(launch, nullptr);
    }
    if (!first_) launch_lse_merge(out_.get(), lse_.get(), part.get(), part_lse.get(), rows(), task_.op.v_dim, nullptr);
    check(cudaStreamSynchronize(nullptr), "attention");
    first_ = false;
  }

  void add_sinks(const std::vector<float>& logits) override { sinks_ = logits; }

  void finish(LocalArray& out) const override {
    if (first_) {
      std::fill(out.values.begin(), out.values.end(), 0.0F);
      std::fill(out.lse.begin(), out.lse.end(), -std::numeric_limits<float>::infinity());
      if (sinks_.empty() || out.lse.empty()) return;
      for (std::size_t row = 0; row < out.lse.size(); ++row) out.lse[row] = sinks_[row % heads_.size()];
      return;
    }
    std::vector<float> lse(static_cast<std::size_t>(lse_.size()));
    out_.copy_to(out.values);
    lse_.copy_to(lse);
    for (std::size_t row = 0; row < lse.size() && !sinks_.empty(); ++row) add_sink(out, lse, row);
    if (!out.lse.empty()) out.lse = lse;
  }

 private:
  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(tokens_.size() * heads_.size()); }

  static std::vector<float> rows_of(const LocalArray& q, const LocalArray& out) {
    std::vector<float> rows;
    for (const std::int64_t at : offsets_of(q.dims, row_dims(out.dims), "q of attention")) {
      rows.insert(rows.end(), q.values.begin() + at, q.values.begin() + at + q.columns());
    }
    return rows;
  }

  [[nodiscard]] std::vector<std::int64_t> kv_heads_of(const LocalArray& k) const {
    std::vector<std::int64_t> result;
    const bool grouped = k.has(Dim::kKvHeads);
    for (const std::int64_t head : heads_) {
      if (!grouped && !k.has(Dim::kHeads)) {
        result.push_back(0);
        continue;
      }
      const std::int64_t wanted = grouped ? kv_head_of(head, task_.q_heads, task_.kv_heads) : head;
      const auto& held = k.ids(grouped ? Dim::kKvHeads : Dim::kHeads);
      const auto it = std::find(held.begin(), held.end(), wanted);
      if (it == held.end()) throw InternalError("query head " + std::to_string(head) + " without its KV head");
      result.push_back(it - held.begin());
    }
    return result;
  }

  // One more logit without a value.
  void add_sink(LocalArray& out, std::vector<float>& lse, std::size_t row) const {
    const float sink = sinks_[row % heads_.size()];
    const float most = std::max(lse[row], sink);
    const float whole = most + std::log(std::exp(lse[row] - most) + std::exp(sink - most));
    const float fade = std::exp(lse[row] - whole);
    for (std::int64_t c = 0; c < task_.op.v_dim; ++c) out.values[static_cast<std::int64_t>(row) * task_.op.v_dim + c] *= fade;
    lse[row] = whole;
  }

  AttentionTask task_;
  std::vector<std::int64_t> heads_;
  std::vector<std::int64_t> tokens_;
  KernelBuffer<float> q_;
  KernelBuffer<std::int64_t> places_;
  KernelBuffer<float> out_;
  KernelBuffer<float> lse_;
  std::vector<float> sinks_;
  bool first_ = true;
};

// Both operands in bf16, sums in fp32.
void run_product(const BlasLt& library, const ProductShapes& shapes, const KernelBuffer<float>& x, const KernelBuffer<float>& w, KernelBuffer<float>& y) {
  const KernelBuffer<char> workspace(static_cast<std::int64_t>(BlasLtProduct::kWorkspace));
  const BlasLtProduct product(library, shapes, workspace.get());
  if (shapes.format == ProductFormat::kFp32) {
    product.run(x.get(), w.get(), y.get(), nullptr);
    return check(cudaStreamSynchronize(nullptr), "product");
  }
  const KernelBuffer<std::uint16_t> x16(x.size());
  const KernelBuffer<std::uint16_t> w16(w.size());
  launch_to_bf16(x.get(), x16.get(), x.size(), nullptr);
  launch_to_bf16(w.get(), w16.get(), w.size(), nullptr);
  product.run(x16.get(), w16.get(), y.get(), nullptr);
  check(cudaStreamSynchronize(nullptr), "product");
}

}  // namespace

int multiprocessors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "device");
  return count;
}

int CudaKernels::take_device() const {
  static std::atomic<int> next{0};
  thread_local const int turn = next++;
  const int device = own_device_.value_or(turn % devices_);
  check(cudaSetDevice(device), "device");
  return device;
}

const BlasLt& CudaKernels::library(int device) const {
  const std::lock_guard lock(mutex_);
  auto& made = libraries_[device];
  if (made == nullptr) made = std::make_unique<BlasLt>();
  return *made;
}

void CudaKernels::matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out) const {
  const auto shape = carry == 0 ? dense_shape(x, w, out) : std::nullopt;
  if (!shape) return Kernels::matmul(x, w, carry, out);
  const BlasLt& blas = library(take_device());
  const bool aligned = shape->n % 8 == 0 && shape->k % 8 == 0;
  const ProductShapes shapes{shape->m, shape->n, shape->k, storage_ == Storage::kBf16 && aligned ? ProductFormat::kBf16 : ProductFormat::kFp32, true};
  const KernelBuffer<float> xs(x.values);
  const KernelBuffer<float> ws(w.values);
  KernelBuffer<float> ys(static_cast<std::int64_t>(out.values.size()));
  run_product(blas, shapes, xs, ws, ys);
  ys.copy_to(out.values);
}

void CudaKernels::rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out) const {
  if (carry != 0 || x.dims != out.dims) return Kernels::rms_norm(x, weight, carry, out);
  take_device();
  const KernelBuffer<float> xs(x.values);
  const KernelBuffer<float> ws(weight.values);
  const KernelBuffer<float> ys(static_cast<std::int64_t>(out.values.size()));
  launch_rms_norm(xs.get(), nullptr, ws.get(), ys.get(), x.rows(), x.columns(), static_cast<float>(kNormEpsilon), nullptr);
  ys.copy_to(out.values);
}

void CudaKernels::activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out) const {
  const bool plain = inputs.size() == 2 && function == ElementFunction::kSilu && inputs[0]->dims == out.dims && inputs[1]->dims == out.dims;
  if (!plain) return Kernels::activate(inputs, function, out);
  take_device();
  const KernelBuffer<float> gate(inputs[0]->values);
  const KernelBuffer<float> up(inputs[1]->values);
  const KernelBuffer<float> ys(static_cast<std::int64_t>(out.values.size()));
  launch_swiglu(gate.get(), up.get(), ys.get(), ys.size(), nullptr);
  ys.copy_to(out.values);
}

std::unique_ptr<BlockAttention> CudaKernels::attention(const AttentionTask& task, const LocalArray& q, const LocalArray& out) const {
  const bool plain = task.selection == nullptr && !task.op.chunked;
  if (!plain) return Kernels::attention(task, q, out);
  take_device();
  return std::make_unique<CudaAttention>(task, q, out);
}

}  // namespace shardplan::cuda
