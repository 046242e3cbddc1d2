#include "hwprofiles/kernel_model.h"

#include <array>

namespace shardplan {
namespace {

const std::vector<ParameterSpec>& tile_gemm_parameters() {
  static const std::vector<ParameterSpec> kSpecs{
      {"t0", 0.5, 20, 2.3, 2.3, "us: launch and drain"},
      {"ec", 0.1, 0.99, 0.85, 0.85, "of the peak, while a tile is computed"},
      {"em", 0.1, 0.97, 0.85, 0.85, "of the memory bandwidth"},
      {"p", 1.0, 8.0, 2.3, 2.3, "norm that joins compute and memory time; large: the greater of them"},
      {"cov", 0.005, 8, 0.9, 0.9, "us: prologue and epilogue of a 128x128 tile"},
      {"cred", 0.05, 1000, 2.7, 1000, "us: reduction after split-K; 1000: never split"},
      {"cw", 0.02, 3, 1.0, 1.0, "bytes written per byte of the product"},
      {"ceil", 0.005, 20, 0.05, 0.005, "weight of whole waves against fractional ones"},
      {"csm", 0.001, 2, 0.003, 0.001, "ns per k and 128 bytes of a tile's edges: feeding shared memory"},
      {"bhalf", 0.01, 40, 6, 0.01, "MB read beside, by kernels too short to fill the memory pipeline"},
      {"therm", 0.001, 0.6, 0.05, 0.001, "share of speed that kernels of many ms lose to the power limit"},
      {"quant_row", 0.0001, 30, 0.001, 0.0001, "ns per row: a quantisation kernel before the product"},
      {"quant_byte", 0.0001, 6, 0.001, 0.0001, "passes over the input at full bandwidth: the same kernel"},
  };
  return kSpecs;
}

const std::vector<ParameterSpec>& context_attention_parameters() {
  static const std::vector<ParameterSpec> kSpecs{
      {"t0", 1, 60, 9, 9, "us: launch"},
      {"ec", 0.05, 0.99, 0.68, 0.68, "of the bf16 peak"},
      {"em", 0.02, 0.97, 0.4, 0.4, "of the memory bandwidth"},
      {"p", 1.0, 8, 1.4, 1.4, "norm that joins compute and memory time"},
      {"cov", 0.01, 40, 2.5, 2.5, "us per wave of thread blocks"},
      {"tail", 0.001, 4, 0.4, 0.001, "of the longest block, which ends alone"},
      {"cb", 0.001, 40, 1, 0.001, "us per 64 requests"},
      {"ceil", 0.005, 20, 0.1, 0.005, "weight of whole waves"},
      {"therm", 0.001, 0.8, 0.02, 0.001, "share of speed that kernels of many ms lose"},
      {"cl", 0.001, 8, 0.1, 0.001, "us per doubling of the keys beyond 128"},
  };
  return kSpecs;
}

const std::vector<ParameterSpec>& decode_attention_parameters() {
  static const std::vector<ParameterSpec> kSpecs{
      {"t0", 1, 60, 8, 8, "us: launch"},
      {"em", 0.1, 0.97, 0.9, 0.9, "of the memory bandwidth"},
      {"p", 1.0, 8, 1.4, 1.4, "norm that joins the thread blocks' time and memory time"},
      {"cl", 0.001, 6, 0.5, 0.001, "us per doubling of the positions beyond 128"},
      {"bcta", 5, 3000, 200, 200, "GB/s that one thread block reads"},
      {"cov", 0.01, 30, 3, 3, "us per thread block"},
      {"cq", 0.01, 40, 4, 4, "times the queries are read and written"},
      {"csp", 0.001, 10, 0.1, 0.01, "us per doubling of the split of the positions"},
      {"ceil", 0.005, 30, 1, 0.005, "weight of whole waves"},
      {"tx", 0.001, 30, 0.1, 0.001, "us: regrouping queries that share a KV head (FlashAttention-2)"},
      {"ecta", 0.01, 0.99, 0.5, 0.5, "of one SM's bf16 peak inside a block"},
      {"mha_split", 0.001, 1, 1, 1, "1: positions are split also without grouped queries"},
  };
  return kSpecs;
}

const std::vector<ParameterSpec>& grouped_gemm_parameters() {
  static const std::vector<ParameterSpec> kSpecs{
      {"t0", 1, 150, 20, 20, "us: routing, permutation, launches"},
      {"ec", 0.05, 0.99, 0.6, 0.6, "of the peak, while a tile is computed"},
      {"em", 0.05, 0.97, 0.9, 0.9, "of the memory bandwidth"},
      {"p", 1.0, 8, 1.6, 1.6, "norm that joins compute and memory time"},
      {"cov", 0.01, 20, 1.5, 1.5, "us: prologue and epilogue of a tile"},
      {"ca", 0.05, 12, 3, 3, "times the activations of the local rows are read and written"},
      {"ct", 0.001, 6, 0.15, 0.001, "times the routed rows of all tokens pass the memory"},
      {"cr", 0.01, 6, 0.5, 0.01, "extra time of narrow tiles"},
      {"cact", 0.001, 20, 1, 0.001, "x 10 ns per expert of the layer"},
      {"ceil", 0.005, 20, 0.2, 0.005, "weight of whole waves"},
      {"bhalf", 0.01, 60, 4, 0.01, "MB read beside, by kernels too short to fill the memory pipeline"},
      {"host", 0.001, 100, 0.001, 0.001, "us: launches from the host, which a captured graph does not wait for"},
  };
  return kSpecs;
}

constexpr std::array<std::string_view, 4> kNames{"tile_gemm", "context_attention", "decode_attention", "grouped_gemm"};
constexpr std::array<KernelForm, 4> kForms{KernelForm::kTileGemm, KernelForm::kContextAttention, KernelForm::kDecodeAttention,
                                           KernelForm::kGroupedGemm};

}  // namespace

std::string_view form_name(KernelForm form) { return kNames[static_cast<std::size_t>(form)]; }

const std::vector<std::string>& form_names() {
  static const std::vector<std::string> kAll(kNames.begin(), kNames.end());
  return kAll;
}

const KernelForm* find_form(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return &kForms[i];
  }
  return nullptr;
}

const std::vector<ParameterSpec>& form_parameters(KernelForm form) {
  switch (form) {
    case KernelForm::kTileGemm: return tile_gemm_parameters();
    case KernelForm::kContextAttention: return context_attention_parameters();
    case KernelForm::kDecodeAttention: return decode_attention_parameters();
    case KernelForm::kGroupedGemm: return grouped_gemm_parameters();
  }
  return tile_gemm_parameters();
}

std::string_view row_format(std::string_view format) {
  struct Alias {
    std::string_view format, row;
  };
  constexpr std::array<Alias, 11> kAliases{{{"fp16", "bf16"}, {"fp32", "bf16"}, {"fp8_channel", "fp8"}, {"fp8_ds_mla", "fp8"}, {"fp8_index", "fp8"},
                                            {"nvfp4_a16", "mxfp4"}, {"mxfp4_a16", "mxfp4"}, {"int4_g128", "int4"}, {"int4_g64", "int4"},
                                            {"int4_g32", "int4"}, {"int8_a16", "int8"}}};
  for (const Alias& alias : kAliases) {
    if (alias.format == format) return alias.row;
  }
  return format;
}

Spread spread_at(const KernelModel& model, double x) {
  Spread found = model.spread;
  for (const RegimeSpread& regime : model.regimes) {
    if (x >= regime.from) found = regime.spread;
  }
  return found;
}

}  // namespace shardplan
