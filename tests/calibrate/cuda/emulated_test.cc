// The CUDA backend's kernels run on the host, thread by thread, against the host's kernels; and whole checks with them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/check/check_case.h"
#include "calibrate/cuda/cuda_kernels.h"
#include "calibrate/cuda/launchers.h"
#include "calibrate/kernels/sampler.h"
#include "calibrate/proof.h"
#include "calibrate/small_models.h"
#include "calibrate/token_id.h"
#include "costmodel/lower.h"
#include "tests/catch.h"

namespace shardplan::cuda {
namespace {

using Ids = std::vector<std::int64_t>;

Ids counted(std::int64_t count, std::int64_t first = 0) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

std::vector<float> made(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(race_time(seed, 1, i) - 1);
  return values;
}

LocalArray made_array(LocalDims dims, std::uint64_t seed) {
  LocalArray array(std::move(dims));
  array.values = made(std::ssize(array.values), seed);
  return array;
}

void check_close(const std::vector<float>& a, const std::vector<float>& b, float tolerance = 5e-6F) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (const float x : b) most = std::max(most, std::isfinite(x) ? std::abs(x) : 0.0F);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isinf(b[i]))
      CHECK(a[i] == b[i]);
    else if (!(std::abs(a[i] - b[i]) <= tolerance * most))
      FAIL_CHECK("element " << i << ": " << a[i] << " for " << b[i]);
  }
}

// Tokens of two requests, some of them far on.
Ids ragged(std::int64_t count, std::int64_t first) {
  Ids ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(token_id(i % 3 == 0 ? 1 : 0, first + i));
  return ids;
}

TEST_CASE("attention of the device is the host's: blocks of keys, windows, KV heads shared, prefill and decode") {
  const CudaKernels kernels(Storage::kFp32, 1);
  for (const Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    for (const std::int64_t window : {0, 7}) {
      for (const std::int64_t v_dim : {4, 40}) {  // less than a warp, and more
        const AttentionOp op{.phase = phase, .qk_dim = 6, .v_dim = v_dim, .window = window, .score_scale = 0.4};
        const AttentionTask task{op, 8, 4};
        const LocalArray q =
            made_array({{Dim::kTokens, ragged(9, 60)}, {Dim::kHeads, {2, 3, 4, 5}}, {Dim::kHeadDim, counted(6)}}, 1);
        LocalArray device({{Dim::kTokens, ragged(9, 60)}, {Dim::kHeads, {2, 3, 4, 5}}, {Dim::kHeadDim, counted(v_dim)}},
                          1, true);
        LocalArray host = device;
        const auto on_device = kernels.attention(task, q, device);
        OnlineAttention on_host(task, q, host);
        for (const std::int64_t first : {0, 50, 66}) {  // three blocks, the first of more keys than a tile
          const Ids keys = ragged(first == 0 ? 50 : 16, first);
          const LocalArray k = made_array({{Dim::kTokens, keys}, {Dim::kKvHeads, {1, 2}}, {Dim::kHeadDim, counted(6)}},
                                          static_cast<std::uint64_t>(first) + 2);
          const LocalArray v =
              made_array({{Dim::kTokens, keys}, {Dim::kKvHeads, {1, 2}}, {Dim::kHeadDim, counted(v_dim)}},
                         static_cast<std::uint64_t>(first) + 3);
          on_device->add(k, v);
          on_host.add(k, v);
        }
        on_device->add_sinks({0.5F, -1.0F, 2.0F, 0.0F});
        on_host.add_sinks({0.5F, -1.0F, 2.0F, 0.0F});
        on_device->finish(device);
        on_host.finish(host);
        check_close(device.values, host.values);
        check_close(device.lse, host.lse);
      }
    }
  }
}

TEST_CASE("equal requests in one launch, heads in groups and keys in order give what one at a time gives") {
  constexpr std::int64_t kRequests = 3, kHeads = 8, kKvHeads = 2, kKeys = 70, kDim = 5, kTokens = 6;
  const KernelBuffer<float> k(made(kRequests * kKeys * kKvHeads * kDim, 1)),
      v(made(kRequests * kKeys * kKvHeads * kDim, 2));
  Ids of_head;
  for (std::int64_t h = 0; h < kHeads; ++h) of_head.push_back(h * kKvHeads / kHeads);
  const KernelBuffer<std::int64_t> kv_heads(of_head);
  for (const std::int64_t tokens : {std::int64_t{1}, kTokens}) {
    for (const std::int64_t window : {0, 9}) {
      const std::int64_t rows = kRequests * tokens * kHeads;
      const KernelBuffer<float> q(made(rows * kDim, 3));
      const KernelBuffer<float> together(rows * kDim), apart(rows * kDim), lse(rows), lse_apart(rows);
      Ids query_places, key_places;
      for (std::int64_t r = 0; r < kRequests; ++r) {
        for (std::int64_t t = 0; t < tokens; ++t) query_places.insert(query_places.end(), {r, kKeys - tokens + t});
        for (std::int64_t i = 0; i < kKeys; ++i) key_places.insert(key_places.end(), {r, i});
      }
      const KernelBuffer<std::int64_t> queries(query_places), keys(key_places);
      AttentionLaunch launch{.q = q.get(),
                             .k = k.get(),
                             .v = v.get(),
                             .query_places = queries.get(),
                             .kv_head_of_head = kv_heads.get(),
                             .out = together.get(),
                             .lse = lse.get(),
                             .requests = kRequests,
                             .group = kHeads / kKvHeads,
                             .tokens = tokens,
                             .heads = kHeads,
                             .kv_heads = kKvHeads,
                             .keys = kKeys,
                             .qk_dim = kDim,
                             .v_dim = kDim,
                             .v_stride = kDim,
                             .window = window,
                             .scale = 0.5F};
      const KernelBuffer<float> scratch(decode_scratch_floats(launch, 3));
      launch_decode_attention(launch, 3, scratch.get(), nullptr);
      for (std::int64_t r = 0; r < kRequests; ++r) {
        AttentionLaunch one = launch;
        one.requests = one.group = 1;
        one.q = q.get() + r * tokens * kHeads * kDim;
        one.k = k.get() + r * kKeys * kKvHeads * kDim;
        one.v = v.get() + r * kKeys * kKvHeads * kDim;
        one.query_places = queries.get() + 2 * r * tokens;
        one.key_places = keys.get() + 2 * r * kKeys;
        one.out = apart.get() + r * tokens * kHeads * kDim;
        one.lse = lse_apart.get() + r * tokens * kHeads;
        launch_prefill_attention(one, nullptr);
      }
      std::vector<float> a(static_cast<std::size_t>(rows * kDim)), b = a, c(static_cast<std::size_t>(rows)), d = c;
      together.copy_to(a);
      apart.copy_to(b);
      lse.copy_to(c);
      lse_apart.copy_to(d);
      check_close(a, b);
      check_close(c, d);
    }
  }
}

TEST_CASE("products, norms and activations of the device are the host's") {
  for (const Storage storage : {Storage::kFp32, Storage::kBf16}) {
    const CudaKernels kernels(storage, 1);
    LocalArray x = made_array({{Dim::kTokens, counted(5)}, {Dim::kHidden, counted(16)}}, 1);
    LocalArray w = made_array({{Dim::kFfn, counted(24)}, {Dim::kHidden, counted(16)}}, 2);
    if (storage == Storage::kBf16) {
      round_to_bf16(x.values);
      round_to_bf16(w.values);
    }
    LocalArray device({{Dim::kTokens, counted(5)}, {Dim::kFfn, counted(24)}});
    LocalArray host = device;
    kernels.matmul(x, w, 0, device);
    host_kernels().matmul(x, w, 0, host);
    check_close(device.values, host.values);
    LocalArray normed(x.dims), normed_host(x.dims);
    const LocalArray weight = made_array({{Dim::kHidden, counted(16)}}, 3);
    kernels.rms_norm(x, weight, 0, normed);
    host_kernels().rms_norm(x, weight, 0, normed_host);
    check_close(normed.values, normed_host.values);
    LocalArray opened(x.dims), opened_host(x.dims);
    for (const auto function : {ElementFunction::kSilu, ElementFunction::kSigmoid, ElementFunction::kRelu2}) {
      kernels.activate({&x, &normed_host}, function, opened);
      host_kernels().activate({&x, &normed_host}, function, opened_host);
      check_close(opened.values, opened_host.values);
      kernels.activate({&x}, function, opened);
      host_kernels().activate({&x}, function, opened_host);
      check_close(opened.values, opened_host.values);
    }
  }
}

TEST_CASE("a norm with its residual writes the sum back") {
  constexpr std::int64_t kRows = 3, kColumns = 300;  // more than a block has threads
  const auto x = made(kRows * kColumns, 1), residual = made(kRows * kColumns, 2), weight = made(kColumns, 3);
  const KernelBuffer<float> xs(x), residuals(residual), weights(weight), out(kRows * kColumns);
  launch_rms_norm(xs.get(), residuals.get(), weights.get(), out.get(), kRows, kColumns, 1e-6F, nullptr);
  std::vector<float> sums(x.size()), normed(x.size()), expected_sums, expected;
  residuals.copy_to(sums);
  out.copy_to(normed);
  for (std::int64_t row = 0; row < kRows; ++row) {
    double squares = 0;
    for (std::int64_t c = 0; c < kColumns; ++c) {
      const auto i = static_cast<std::size_t>(row * kColumns + c);
      expected_sums.push_back(x[i] + residual[i]);
      squares += static_cast<double>(expected_sums[i]) * static_cast<double>(expected_sums[i]);
    }
    const double scale = 1 / std::sqrt(squares / kColumns + 1e-6);
    for (std::int64_t c = 0; c < kColumns; ++c)
      expected.push_back(
          static_cast<float>(static_cast<double>(expected_sums[static_cast<std::size_t>(row * kColumns + c)]) * scale) *
          weight[static_cast<std::size_t>(c)]);
  }
  check_close(sums, expected_sums);
  check_close(normed, expected);
}

TEST_CASE("routing, experts and the rows of dispatch and combine are the host's") {
  const CudaKernels kernels(Storage::kFp32, 1);
  const ExpertsOp op{.experts = 12, .per_token = 3, .gated = true, .renormalise = true};
  const Ids tokens = counted(120);  // more pairs than a block has threads
  const LocalArray x = made_array({{Dim::kTokens, tokens}, {Dim::kHidden, counted(7)}}, 1);
  const LocalArray router = made_array({{Dim::kExperts, counted(12)}, {Dim::kHidden, counted(7)}}, 2);
  const LocalArray bias = made_array({{Dim::kExperts, counted(12)}}, 3);
  LocalArray routing({{Dim::kTokens, tokens}, {Dim::kSelected, counted(3)}}, kRoutingWidth);
  LocalArray host_routing = routing;
  kernels.route(x, {router, &bias}, op, {}, routing);
  host_kernels().route(x, {router, &bias}, op, {}, host_routing);
  check_close(routing.values, host_routing.values);
  const Ids held{1, 2, 5, 6, 11};
  const LocalArray gate = made_array({{Dim::kExperts, held}, {Dim::kFfn, counted(18)}, {Dim::kHidden, counted(7)}}, 4);
  const LocalArray up = made_array(gate.dims, 5);
  const LocalArray down = made_array({{Dim::kExperts, held}, {Dim::kHidden, counted(7)}, {Dim::kFfn, counted(18)}}, 6);
  const LocalArray up_bias = made_array({{Dim::kExperts, held}, {Dim::kFfn, counted(18)}}, 7);
  for (const bool biased : {false, true}) {
    ExpertWeights weights{{&gate, &up, &down}, {}};
    if (biased) weights.biases = {nullptr, &up_bias, nullptr};
    LocalArray device(x.dims), host(x.dims);
    kernels.experts(x, host_routing, weights, op, device);
    host_kernels().experts(x, host_routing, weights, op, host);
    check_close(device.values, host.values);
  }
  const Ids rows{5, 0, 119, 7};
  CHECK(kernels.take_rows(x, rows) == host_kernels().take_rows(x, rows));
  CHECK(kernels.take_rows(routing, rows) == host_kernels().take_rows(routing, rows));
  LocalArray device = x, host = x;
  kernels.add_rows(made(4 * 7, 8), rows, device);
  host_kernels().add_rows(made(4 * 7, 8), rows, host);
  CHECK(device.values == host.values);
}

TEST_CASE("rows go to their experts in bf16 and fp8, and come back") {
  constexpr std::int64_t kTokens = 40, kColumns = 12, kPerToken = 2, kExperts = 4;
  const KernelBuffer<float> x(made(kTokens * kColumns, 1));
  std::vector<std::int32_t> picks;
  for (std::int64_t i = 0; i < kTokens * kPerToken; ++i)
    picks.push_back(static_cast<std::int32_t>(i * 7 % 5) - (i % 3 == 0 ? 1 : 0));
  for (std::int32_t& pick : picks) pick = pick >= kExperts ? -1 : pick;
  const KernelBuffer<std::int32_t> experts(picks), slot(std::ssize(picks)), begins(kExperts + 1);
  launch_slots(experts.get(), slot.get(), begins.get(), experts.size(), kExperts, nullptr);
  std::vector<std::int32_t> slots(picks.size()), first(kExperts + 1);
  slot.copy_to(slots);
  begins.copy_to(first);
  CHECK(first.back() == std::count_if(picks.begin(), picks.end(), [](std::int32_t p) { return p >= 0; }));
  const KernelBuffer<std::uint16_t> x16(x.size()), there(first.back() * kColumns), back(x.size());
  launch_to_bf16(x.get(), x16.get(), x.size(), nullptr);
  launch_permute(x16.get(), Element::kBf16, there.get(), Element::kBf16, slot.get(), kTokens, kColumns, kPerToken,
                 nullptr);
  const KernelBuffer<float> ones(std::vector<float>(picks.size(), 1.0F));
  launch_unpermute(there.get(), Element::kBf16, slot.get(), ones.get(), back.get(), kTokens, kColumns, kPerToken,
                   nullptr);
  std::vector<std::uint16_t> before(static_cast<std::size_t>(x.size())), after = before;
  x16.copy_to(before);
  back.copy_to(after);
  const auto value = [](std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); };
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::size_t token = i / kColumns;
    float times = 0;
    for (std::size_t j = 0; j < kPerToken; ++j) times += picks[token * kPerToken + j] >= 0 ? 1.0F : 0.0F;
    CHECK(value(after[i]) == Approx(times * value(before[i])).epsilon(0.004));
  }
  const KernelBuffer<std::uint8_t> there8(first.back() * kColumns), direct8(x.size());
  launch_permute(x16.get(), Element::kBf16, there8.get(), Element::kFp8, slot.get(), kTokens, kColumns, kPerToken,
                 nullptr);
  std::vector<std::uint8_t> permuted(static_cast<std::size_t>(there8.size()));
  there8.copy_to(permuted);
  for (std::size_t pair = 0; pair < picks.size(); ++pair) {
    if (slots[pair] < 0) continue;
    const auto rounded = __nv_fp8_e4m3(value(before[pair / kPerToken * kColumns]));
    CHECK(permuted[static_cast<std::size_t>(slots[pair]) * kColumns] == rounded.bits);
  }
}

TEST_CASE("tokens are sampled as the host samples them") {
  const CudaKernels kernels(Storage::kFp32, 1);
  constexpr std::int64_t kRows = 3, kVocab = 2500;
  const LocalArray logits = made_array({{Dim::kTokens, counted(kRows)}, {Dim::kVocab, counted(kVocab, 7)}}, 1);
  LocalArray device({{Dim::kTokens, counted(kRows)}}), host = device;
  kernels.sample(logits, {}, device);
  host_kernels().sample(logits, {}, host);
  CHECK(device.values == host.values);
  const KernelBuffer<float> scores(logits.values);
  const KernelBuffer<std::int32_t> tokens(kRows);
  for (const SamplerSettings& settings : {SamplerSettings{}, SamplerSettings{.top_k = 3}, kMeasuredSampler}) {
    launch_draw(scores.get(), tokens.get(), kRows, kVocab, settings, nullptr);
    std::vector<std::int32_t> drawn(kRows);
    tokens.copy_to(drawn);
    for (std::int64_t row = 0; row < kRows; ++row)
      CHECK(drawn[static_cast<std::size_t>(row)] ==
            drawn_token(logits.values.data() + row * kVocab, kVocab, settings, row));
  }
}

// Every `every`th case of the models on so many ranks: prompts, then decode steps while another prompt arrives.
void check_with_device(const std::vector<ModelSpec>& models, std::int64_t ranks, Storage storage, std::size_t every) {
  const CudaKernels kernels(storage, 1);
  const auto cases = check_cases(models, ranks);
  for (std::size_t i = 0; i < cases.size(); i += every) {
    const CheckCase& c = cases[i];
    INFO(c.model.name << " " << c.lowering << " " << short_text(c.config));
    ProofOptions options{.seed = 3, .invent_prefix = false, .storage = storage, .kernels = &kernels};
    options.timeout = std::chrono::milliseconds(60'000);
    options.measured_tolerance = has_recurrent(c.model);
    const std::int64_t n = 1 + c.config.variant.speculative_tokens;
    ProofResult total;
    try {
      Proof proof(c.model, c.config, options);
      total = proof.step(StepForm::kPrefill, {{{10, 0, 7, Phase::kPrefill}, {11, 0, 5, Phase::kPrefill}}});
      total.absorb(proof.step(StepForm::kDecode, {{{10, 7, n, Phase::kDecode}, {11, 5, n, Phase::kDecode}}}));
      total.absorb(
          proof.step(StepForm::kMixed,
                     {{{10, 7 + n, n, Phase::kDecode}, {11, 5 + n, n, Phase::kDecode}, {12, 0, 6, Phase::kPrefill}}}));
    } catch (const LoweringRefusal&) {
      continue;
    }
    INFO(total.values.worst_tensor << " on rank " << total.values.worst_rank);
    CHECK(total.values.values > 0);
    CHECK(total.values.worst_share_ratio <= 1);
    for (const std::string& mismatch : total.bytes.mismatches) FAIL_CHECK(mismatch);
  }
}

TEST_CASE("whole transformers add up on the device's kernels as on the host's") {
  for (const ModelSpec& model : small_models()) check_with_device({model}, 2, Storage::kFp32, 13);
  check_with_device({small_moe()}, 4, Storage::kFp32, 31);
}

TEST_CASE("whole transformers add up in bf16 on the device's kernels") {
  for (const ModelSpec& model : {small_dense(), small_moe(), small_latent()})
    check_with_device({model}, 2, Storage::kBf16, 9);
}

}  // namespace
}  // namespace shardplan::cuda
