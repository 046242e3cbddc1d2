#include "calibrate/small_models.h"

namespace shardplan {
namespace {

WeightFormats bf16_formats() {
  const NumberFormat* bf16 = find_format("bf16");
  return {bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16};
}

AttentionSpec grouped() { return {.q_heads = 8, .kv_heads = 4, .head_dim = 6, .v_head_dim = 4}; }

AttentionSpec latent(std::int64_t q_latent) {
  return {.kind = AttentionKind::kLatent, .q_heads = 8, .kv_heads = 1, .head_dim = 8, .v_head_dim = 5, .q_latent = q_latent,
          .kv_latent = 12, .nope_dim = 4, .rope_dim = 4};
}

LayerKind layer(const char* name, AttentionSpec attention, FfnSpec ffn) { return {name, attention, ffn, bf16_formats()}; }

FfnSpec dense() { return {.kind = FfnKind::kDense, .intermediate = 24}; }

FfnSpec moe(std::int64_t shared) {
  return {.kind = FfnKind::kMoe, .intermediate = 8, .experts = 8, .experts_per_token = 2, .shared_intermediate = shared};
}

AttentionSpec recurrent(RecurrentRule rule, std::int64_t gate_rank) {
  AttentionSpec attention{.kind = AttentionKind::kRecurrent, .q_heads = 8, .kv_heads = 4};
  attention.recurrent = {.rule = rule, .key_heads = 4, .value_heads = 8, .key_dim = 3, .value_dim = 5, .conv_width = 3,
                         .conv_bias = rule == RecurrentRule::kStateSpace, .gate_rank = gate_rank};
  return attention;
}

AttentionSpec none() { return {.kind = AttentionKind::kNone, .kv_heads = 1}; }

FfnSpec no_ffn() { return {.kind = FfnKind::kNone}; }

ModelSpec model_of(const char* name, const std::vector<LayerKind>& layers) {
  ModelSpec model;
  model.name = name;
  model.hidden = 16;
  model.vocab = 43;   // divides by no width
  model.max_positions = 4096;
  model.formats = bf16_formats();
  model.kv_format = find_format("bf16");
  for (const LayerKind& kind : layers) append_layer(model, kind);
  return model;
}

}  // namespace

ModelSpec small_dense() { return model_of("dense", {layer("dense", grouped(), dense()), layer("dense", grouped(), dense())}); }

ModelSpec small_windowed() {
  AttentionSpec attention = grouped();
  attention.window = 5;
  attention.sinks = true;
  FfnSpec ffn = dense();
  ffn.gated = false;
  return model_of("windowed", {layer("sliding", attention, ffn)});
}

ModelSpec small_moe() { return model_of("moe", {layer("moe", grouped(), moe(0)), layer("moe", grouped(), moe(0))}); }

ModelSpec small_latent() {
  return model_of("latent", {layer("dense", latent(10), dense()), layer("moe", latent(10), moe(8))});
}

ModelSpec small_latent_plain() { return model_of("latent_plain", {layer("dense", latent(0), dense())}); }

ModelSpec small_gated() {
  AttentionSpec gated = grouped();
  gated.output_gate = true;
  AttentionSpec chunked = grouped();
  chunked.window = 4;
  chunked.chunked = true;
  AttentionSpec shared_value = grouped();
  shared_value.v_head_dim = shared_value.head_dim;
  shared_value.value_is_key = true;
  shared_value.rotary = false;
  LayerKind normed = layer("post_norms", shared_value, dense());
  normed.post_norms = true;
  return model_of("gated", {layer("gated", gated, dense()), layer("chunked", chunked, dense()), normed});
}

ModelSpec small_blocks() {
  FfnSpec latent_experts = moe(8);
  latent_experts.gated = false;
  latent_experts.activation = Activation::kRelu2;
  latent_experts.expert_hidden = 6;
  latent_experts.expert_norm = true;
  return model_of("blocks", {layer("mamba", recurrent(RecurrentRule::kStateSpace, 0), no_ffn()), layer("experts", none(), latent_experts),
                             layer("attention", grouped(), no_ffn()), layer("nothing", none(), no_ffn())});
}

ModelSpec small_delta() {
  return model_of("delta", {layer("delta", recurrent(RecurrentRule::kGatedDelta, 0), dense()), layer("full", grouped(), dense())});
}

ModelSpec small_key_delta() {
  AttentionSpec gated = latent(10);
  gated.rotary = false;
  gated.output_gate = true;
  AttentionSpec wide = recurrent(RecurrentRule::kKeyGatedDelta, 0);
  wide.recurrent.key_heads = wide.kv_heads = 8;
  return model_of("key_delta", {layer("kda", wide, dense()), layer("kda_narrow", recurrent(RecurrentRule::kKeyGatedDelta, 4), dense()),
                                layer("latent", gated, dense())});
}

ModelSpec small_sparse() {
  AttentionSpec dsa = latent(10);
  dsa.index = {.heads = 3, .head_dim = 6, .top_k = 4, .block = 1, .weighted = true};
  AttentionSpec blocks = grouped();
  blocks.index = {.heads = 2, .head_dim = 6, .top_k = 4, .block = 2, .weighted = false};
  AttentionSpec follows = dsa;
  follows.index.shared = true;
  return model_of("sparse", {layer("dsa", dsa, dense()), layer("dsa_shared", follows, dense()), layer("blocks", blocks, dense())});
}

ModelSpec small_compressed() {
  AttentionSpec window{.kind = AttentionKind::kCompressed, .q_heads = 8, .kv_heads = 1, .head_dim = 6, .v_head_dim = 6, .window = 3};
  window.sinks = true;
  window.q_latent = 10;
  window.nope_dim = 2;
  window.rope_dim = 4;
  window.compressed = {.output_rank = 3, .output_groups = 4, .streams = 2};
  AttentionSpec chosen = window;
  chosen.compressed.ratio = 4;
  chosen.index = {.heads = 3, .head_dim = 4, .top_k = 2, .weighted = true};
  AttentionSpec all = window;
  all.compressed.ratio = 3;
  return model_of("compressed", {layer("window", window, moe(8)), layer("chosen", chosen, moe(8)), layer("all", all, moe(8))});
}

ModelSpec small_biased() {
  AttentionSpec oss = grouped();
  oss.qkv_bias = oss.output_bias = oss.sinks = oss.qk_norm = true;
  FfnSpec biased = dense();
  biased.bias = true;
  AttentionSpec whole = grouped();
  whole.qk_norm = whole.qk_norm_whole = whole.qkv_bias = true;
  FfnSpec experts = moe(0);
  experts.bias = experts.router_bias = true;
  AttentionSpec down = latent(10);
  down.qkv_bias = down.output_bias = true;
  FfnSpec gated = moe(8);
  gated.shared_gate = true;
  return model_of("biased", {layer("biases", oss, biased), layer("whole_norm", whole, experts), layer("latent_biases", down, gated)});
}

ModelSpec small_drafting() {
  ModelSpec model = model_of("drafting", {layer("dense", latent(10), dense()), layer("moe", latent(10), moe(8))});
  model.mtp_modules = 2;
  model.mtp_layers = {layer("mtp_latent", latent(10), moe(8)), layer("mtp_grouped", grouped(), dense())};
  return model;
}

std::vector<ModelSpec> small_models() {
  return {small_dense(),  small_windowed(), small_moe(),       small_latent(), small_latent_plain(),
          small_gated(),  small_blocks(),   small_delta(),     small_key_delta(), small_sparse(),
          small_compressed(), small_biased(), small_drafting()};
}

RaggedBatch decode_batch(const std::vector<std::int64_t>& contexts) { return mixed_batch(contexts, {}); }

RaggedBatch prefill_batch(const std::vector<Prompt>& prompts) { return mixed_batch({}, prompts); }

RaggedBatch mixed_batch(const std::vector<std::int64_t>& contexts, const std::vector<Prompt>& prompts) {
  RaggedBatch batch;
  std::int64_t request = 0;
  for (const std::int64_t context : contexts) batch.requests.push_back({request++, context - 1, 1, Phase::kDecode});
  for (const Prompt& prompt : prompts) batch.requests.push_back({request++, prompt.prefix, prompt.new_tokens, Phase::kPrefill});
  return batch;
}

}  // namespace shardplan
