#include "calibrate/cuda/cuda_kernels.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "calibrate/cuda/index_logic.h"
#include "calibrate/cuda/launchers.h"
#include "calibrate/cuda/operands.h"
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
      : task_(task), heads_(out.ids(Dim::kHeads)), tokens_(out.ids(Dim::kTokens)), q_(rows_at(q, offsets_of(q.dims, row_dims(out.dims), "q of attention"), q.columns())), places_(places_of(tokens_)),
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
      const std::int64_t splits = decode_splits(attention_blocks(launch), launch.keys, kDecodeTile, multiprocessors());
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
  if (!product.is_served() && shapes.format != ProductFormat::kFp32) {
    ProductShapes wide = shapes;
    wide.format = ProductFormat::kFp32;
    return run_product(library, wide, x, w, y);
  }
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

Activation activation_of(ElementFunction function) {
  switch (function) {
    case ElementFunction::kSilu: return Activation::kSilu;
    case ElementFunction::kSigmoid: return Activation::kSigmoid;
    case ElementFunction::kRelu2: return Activation::kRelu2;
  }
  return Activation::kSilu;
}

// What each token takes in the end: the device's choice, or that of the run which is followed.
void take_choices(const Chooser& chooser, const std::vector<std::int64_t>& tokens, const std::vector<float>& scores, const ExpertsOp& op,
                  std::vector<std::int32_t>& experts) {
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const auto own = experts.begin() + static_cast<std::int64_t>(t) * op.per_token;
    const std::vector<std::int64_t> best(own, own + op.per_token);
    const auto taken = chooser.choose(tokens[t], scores.data() + static_cast<std::int64_t>(t) * op.experts, op.experts, best);
    std::transform(taken.begin(), taken.end(), own, [](std::int64_t expert) { return static_cast<std::int32_t>(expert); });
  }
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

void CudaKernels::rotary(const LocalArray& x, std::int64_t columns, LocalArray& out) const {
  if (x.dims == out.dims) out.values = x.values;
  else out.values = rows_at(x, offsets_of(x.dims, out.dims, "x of rotary"), 1);
  if (out.values.empty()) return;
  take_device();
  const KernelBuffer<float> values(out.values);
  const KernelBuffer<std::int64_t> positions(row_positions(out));
  launch_rotary(values.get(), positions.get(), out.rows(), out.columns(), columns, nullptr);
  values.copy_to(out.values);
}

void CudaKernels::activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out) const {
  const bool plain = inputs.front()->dims == out.dims && inputs.back()->dims == out.dims;
  if (!plain) return Kernels::activate(inputs, function, out);
  take_device();
  const KernelBuffer<float> open(inputs.front()->values);
  const KernelBuffer<float> factor(inputs.size() > 1 ? inputs.back()->values : std::vector<float>());
  const KernelBuffer<float> ys(static_cast<std::int64_t>(out.values.size()));
  launch_activate(activation_of(function), open.get(), factor.get(), ys.get(), ys.size(), nullptr);
  ys.copy_to(out.values);
}

// The device chooses; where another run is followed its choice must be as good, which the host judges. The shares are the device's.
void CudaKernels::route(const LocalArray& x, const RouterWeights& router, const ExpertsOp& op, const Chooser& chooser, LocalArray& routing) const {
  ensure(router.weight.rows() == op.experts && router.weight.columns() == x.columns(), "router needs all experts and all of x");
  const auto& tokens = routing.dims.front().ids;
  const std::int64_t count = std::ssize(tokens);
  if (count == 0) return;
  const BlasLt& blas = library(take_device());
  const KernelBuffer<float> xs(rows_at(x, offsets_of(x.dims, {routing.dims.front()}, "x of router"), x.columns()));
  const KernelBuffer<float> ws(router.weight.values);
  const KernelBuffer<float> bias(router.bias != nullptr ? router.bias->values : std::vector<float>());
  KernelBuffer<float> logits(count * op.experts);
  run_product(blas, {count, op.experts, x.columns(), ProductFormat::kFp32, true}, xs, ws, logits);
  KernelBuffer<std::int32_t> chosen(count * op.per_token);
  launch_choose_experts(logits.get(), bias.get(), chosen.get(), count, op.experts, op.per_token, nullptr);
  std::vector<float> scores(static_cast<std::size_t>(logits.size()));
  std::vector<std::int32_t> experts(static_cast<std::size_t>(chosen.size()));
  logits.copy_to(scores);
  chosen.copy_to(experts);
  take_choices(chooser, tokens, scores, op, experts);
  chosen.copy_from(experts);
  const KernelBuffer<float> shares(chosen.size());
  launch_expert_shares(logits.get(), chosen.get(), shares.get(), count, op.experts, op.per_token, op.renormalise, nullptr);
  std::vector<float> weights(experts.size());
  shares.copy_to(weights);
  for (std::size_t i = 0; i < experts.size(); ++i) {
    routing.values[kRoutingWidth * i] = static_cast<float>(experts[i]);
    routing.values[kRoutingWidth * i + 1] = weights[i];
  }
}

void CudaKernels::experts(const LocalArray& x, const LocalArray& routing, const ExpertWeights& held, const ExpertsOp& op, LocalArray& out) const {
  const ExpertPairs pairs = expert_pairs(x, routing, held, op, out);
  std::fill(out.values.begin(), out.values.end(), 0.0F);
  if (pairs.rows == 0 || out.values.empty()) return;
  take_device();
  const std::int64_t hidden = held.weights.front()->columns();
  const std::int64_t width = std::ssize(held.weights.front()->ids(Dim::kFfn));
  const KernelBuffer<float> xs(pairs.x), weights(pairs.weights), permuted(pairs.rows * hidden);
  const KernelBuffer<std::int32_t> experts(pairs.experts), slot(std::ssize(pairs.experts)), begins(pairs.held + 1);
  launch_slots(experts.get(), slot.get(), begins.get(), experts.size(), pairs.held, nullptr);
  launch_permute(xs.get(), Element::kFp32, permuted.get(), Element::kFp32, slot.get(), pairs.tokens, hidden, op.per_token, nullptr);
  const auto product = [&](const KernelBuffer<float>& rows, std::size_t i, std::int64_t n, std::int64_t k) {
    const KernelBuffer<float> ws(held.weights[i]->values);
    const LocalArray* bias = held.biases.empty() ? nullptr : held.biases[i];
    const KernelBuffer<float> bs(bias != nullptr ? bias->values : std::vector<float>());
    KernelBuffer<float> made(pairs.rows * n);
    launch_grouped_rows(rows.get(), ws.get(), bs.get(), begins.get(), made.get(), pairs.rows, pairs.held, {n, k}, nullptr);
    return made;
  };
  const std::size_t last = held.weights.size() - 1;
  KernelBuffer<float> middle = product(permuted, 0, width, hidden);
  const KernelBuffer<float> up = op.gated ? product(permuted, last - 1, width, hidden) : KernelBuffer<float>(0);
  launch_activate(activation_of(op.function), middle.get(), up.get(), middle.get(), middle.size(), nullptr);
  const KernelBuffer<float> down = product(middle, last, hidden, width);
  const KernelBuffer<float> sums(std::ssize(out.values));
  launch_unpermute(down.get(), Element::kFp32, slot.get(), weights.get(), sums.get(), pairs.tokens, hidden, op.per_token, nullptr);
  sums.copy_to(out.values);
}

void CudaKernels::sample(const LocalArray& logits, const Chooser& chooser, LocalArray& token_ids) const {
  const auto rows = offsets_of(logits.dims, token_ids.dims, "logits");
  const std::int64_t count = logits.columns();
  if (rows.empty()) return;
  take_device();
  const KernelBuffer<float> scores(rows_at(logits, rows, count));
  const KernelBuffer<std::int32_t> best(std::ssize(rows));
  launch_argmax(scores.get(), best.get(), best.size(), count, nullptr);
  std::vector<std::int32_t> own(rows.size());
  best.copy_to(own);
  const auto& tokens = token_ids.dims.front().ids;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const auto taken = chooser.choose(tokens[t], logits.values.data() + rows[t], count, std::vector<std::int64_t>{own[t]});
    token_ids.values[t] = static_cast<float>(logits.ids(Dim::kVocab)[static_cast<std::size_t>(taken.front())]);
  }
}

std::vector<float> CudaKernels::take_rows(const LocalArray& x, const std::vector<std::int64_t>& rows) const {
  std::vector<float> taken(rows.size() * static_cast<std::size_t>(row_floats(x)));
  if (taken.empty()) return taken;
  take_device();
  const KernelBuffer<float> xs(x.values);
  const KernelBuffer<std::int64_t> places(rows);
  const KernelBuffer<float> out(std::ssize(taken));
  launch_take_rows(xs.get(), places.get(), out.get(), places.size(), row_floats(x), nullptr);
  out.copy_to(taken);
  return taken;
}

void CudaKernels::add_rows(const std::vector<float>& values, const std::vector<std::int64_t>& rows, LocalArray& to) const {
  if (values.empty()) return;
  take_device();
  const KernelBuffer<float> came(values);
  const KernelBuffer<std::int64_t> places(rows);
  const KernelBuffer<float> sums(to.values);
  launch_add_rows(came.get(), places.get(), sums.get(), places.size(), row_floats(to), nullptr);
  sums.copy_to(to.values);
}

std::unique_ptr<BlockAttention> CudaKernels::attention(const AttentionTask& task, const LocalArray& q, const LocalArray& out) const {
  const bool plain = task.selection == nullptr && !task.op.chunked && task.op.entry_tokens == 0;
  if (!plain) return Kernels::attention(task, q, out);
  take_device();
  return std::make_unique<CudaAttention>(task, q, out);
}

}  // namespace shardplan::cuda
