#include <algorithm>
#include <memory>

#include "calibrate/fit/kernel_samples.h"
#include "costmodel/kernels/kernel_forms.h"

namespace shardplan {
namespace {

constexpr double kOverPeak = 1.02;
constexpr double kOverBandwidth = 1.05;
constexpr double kCold = 300e6;

template <class Shape>
struct Samples {
  KernelDevice device;
  std::vector<Shape> shapes;
};

double causal_pairs(double tokens, double window) {
  if (window <= 0 || window >= tokens) return tokens * (tokens + 1) / 2;
  return window * (window + 1) / 2 + (tokens - window) * window;
}

bool is_fp8(const std::string& dtype) { return dtype == "fp8"; }

// "attention_decode.fp8.d128.window"
std::string key_of(const char* family, bool fp8, double head_dim, bool windowed) {
  return std::string(family) + (fp8 ? ".fp8" : ".bf16") + ".d" + std::to_string(static_cast<int>(head_dim)) + (windowed ? ".window" : "");
}

void finish(FitInput& input, const MeasuredTable& table, const std::string& key, KernelForm form) {
  input.key = key;
  input.on = source_of(table);
  input.form = form;
}

std::vector<double> starts_of(KernelForm form) {
  std::vector<double> out;
  for (const ParameterSpec& spec : form_parameters(form)) out.push_back(spec.start);
  return out;
}

std::vector<FitInput> context_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  std::map<std::string, std::pair<FitInput, std::shared_ptr<Samples<ContextShape>>>> by_key;
  for (const Measurement& cell : table.cells) {
    const double dim = table.text_or(cell.row, "head_dim", "128") == "128" ? 128 : table.number(cell.row, "head_dim");
    const bool fp8 = is_fp8(table.text_or(cell.row, "kv_cache_dtype", "bfloat16"));
    const std::string window_text = table.text_or(cell.row, "window_size", "0");
    const double window = window_text == "0" ? 0 : table.number(cell.row, "window_size");
    auto& [input, samples] = by_key[key_of("attention_prefill", fp8, dim, window > 0)];
    if (!samples) {
      samples = std::make_shared<Samples<ContextShape>>();
      samples->device = device_of(hardware, 0);
    }
    const ContextShape shape{table.number(cell.row, "batch_size"), cell.swept, cell.swept, causal_pairs(cell.swept, window),
                             table.number(cell.row, "num_heads"), table.number(cell.row, "num_key_value_heads"), dim, dim, fp8 ? 1.0 : 2.0, window};
    const double flops = 4 * dim * shape.batch * shape.heads * shape.pairs;
    if (flops > kOverPeak * samples->device.flops_per_us * cell.microseconds) { ++input.dropped["faster than the peak"]; continue; }
    samples->shapes.push_back(shape);
    add_sample(input, table, cell, hash_of({shape.heads, shape.kv_heads}), shape.batch * shape.tokens);
  }
  std::vector<FitInput> out;
  for (auto& [key, entry] : by_key) {
    auto& [input, samples] = entry;
    finish(input, table, key, KernelForm::kContextAttention);
    input.start = starts_of(input.form);
    input.regime_bounds = {1, 1024, 16384};
    input.predict = [samples](std::size_t i, const double* p) { return context_attention_us(samples->shapes[i], samples->device, p); };
    out.push_back(std::move(input));
  }
  return out;
}

std::vector<FitInput> decode_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  std::map<std::string, std::pair<FitInput, std::shared_ptr<Samples<DecodeShape>>>> by_key;
  for (const Measurement& cell : table.cells) {
    const double dim = table.text_or(cell.row, "head_dim", "128") == "128" ? 128 : table.number(cell.row, "head_dim");
    const bool fp8 = is_fp8(table.text_or(cell.row, "kv_cache_dtype", "bfloat16"));
    const std::string window_text = table.text_or(cell.row, "window_size", "0");
    const double window = window_text == "0" ? 0 : table.number(cell.row, "window_size");
    auto& [input, samples] = by_key[key_of("attention_decode", fp8, dim, window > 0)];
    if (!samples) {
      samples = std::make_shared<Samples<DecodeShape>>();
      samples->device = device_of(hardware, 0);
    }
    const double positions = window > 0 ? std::min(cell.swept + 1, window) : cell.swept + 1;
    const DecodeShape shape{table.number(cell.row, "batch_size"), positions, table.number(cell.row, "num_heads"),
                            table.number(cell.row, "num_key_value_heads"), dim, dim, 2 * dim * (fp8 ? 1.0 : 2.0)};
    const double bytes = shape.batch * positions * shape.kv_heads * shape.position_bytes;
    if (bytes > kCold && bytes > kOverBandwidth * samples->device.bytes_per_us * cell.microseconds) { ++input.dropped["over the memory bandwidth"]; continue; }
    samples->shapes.push_back(shape);
    add_sample(input, table, cell, hash_of({shape.heads, shape.kv_heads}), shape.batch * shape.positions);
  }
  std::vector<FitInput> out;
  const auto& specs = form_parameters(KernelForm::kDecodeAttention);
  const auto index = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find_if(specs.begin(), specs.end(), [&](const ParameterSpec& s) { return s.name == name; }) - specs.begin());
  };
  for (auto& [key, entry] : by_key) {
    auto& [input, samples] = entry;
    finish(input, table, key, KernelForm::kDecodeAttention);
    input.start = starts_of(input.form);
    input.held.assign(input.start.size(), false);
    const bool ampere = hardware.device.architecture == "ampere";
    input.held[index("mha_split")] = true;
    input.start[index("mha_split")] = ampere ? 0.01 : 1;
    if (!ampere) {
      input.held[index("tx")] = true;
      input.start[index("tx")] = 0.001;
    } else {
      input.start[index("tx")] = 8;
      input.start[index("bcta")] = 25;
      input.start[index("csp")] = 1.6;
    }
    input.regime_bounds = {1, 8192, 262144};
    input.predict = [samples](std::size_t i, const double* p) { return decode_attention_us(samples->shapes[i], samples->device, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace

// What the smallest work of the table takes where that is the host's time and not the kernel's, else 0.
double host_floor(const MeasuredTable& table) {
  constexpr double kKernel = 40;   // us
  std::vector<double> small;
  for (const Measurement& cell : table.cells) {
    if (cell.swept <= 128 && table.number(cell.row, "batch_size") <= 2) small.push_back(cell.microseconds);
  }
  if (small.empty()) return 0;
  std::nth_element(small.begin(), small.begin() + static_cast<std::ptrdiff_t>(small.size() / 2), small.end());
  return small[small.size() / 2] > kKernel ? small[small.size() / 2] : 0;
}

// Whether a cell took twice the time of a larger shape of its row: the host's hiccup, not the kernel.
std::vector<bool> slower_than_larger(const MeasuredTable& table) {
  constexpr double kHiccup = 2;
  std::vector<std::size_t> order(table.cells.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Measurement& left = table.cells[a];
    const Measurement& right = table.cells[b];
    return left.row != right.row ? left.row < right.row : left.swept > right.swept;
  });
  std::vector<bool> out(table.cells.size(), false);
  std::size_t row = table.rows.size();
  double least = 0;
  for (const std::size_t i : order) {
    const Measurement& cell = table.cells[i];
    if (cell.row != row) least = cell.microseconds;
    row = cell.row;
    out[i] = cell.microseconds > kHiccup * least;
    least = std::min(least, cell.microseconds);
  }
  return out;
}

// MLA: expanded in context (192 and 128 columns per head), absorbed in decode (all heads share one latent of 576 columns).
std::vector<FitInput> mla_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  const bool context = table.table.starts_with("context");
  const double floor = host_floor(table);
  const std::vector<bool> hiccup = slower_than_larger(table);
  std::map<bool, FitInput> by_type;
  const auto contexts = std::make_shared<std::map<bool, Samples<ContextShape>>>();
  const auto decodes = std::make_shared<std::map<bool, Samples<DecodeShape>>>();
  for (const Measurement& cell : table.cells) {
    const bool fp8 = is_fp8(table.text_or(cell.row, "kv_cache_dtype", "bfloat16"));
    FitInput& input = by_type[fp8];
    const double batch = table.number(cell.row, "batch_size");
    const double heads = table.number(cell.row, "num_heads");
    if (cell.microseconds < 2.5 * floor) { ++input.dropped["host-bound: a floor of " + std::to_string(static_cast<int>(floor)) + " us"]; continue; }
    if (hiccup[static_cast<std::size_t>(&cell - table.cells.data())]) { ++input.dropped["slower than twice a larger shape"]; continue; }
    const KernelDevice device = device_of(hardware, 0);
    if (context) {
      const ContextShape shape{batch, cell.swept, cell.swept, causal_pairs(cell.swept, 0), heads, heads, 192, 128, 2, 0};
      if (640 * batch * heads * shape.pairs > kOverPeak * device.flops_per_us * cell.microseconds) { ++input.dropped["faster than the peak"]; continue; }
      (*contexts)[fp8].device = device;
      (*contexts)[fp8].shapes.push_back(shape);
    } else {
      const DecodeShape shape{batch, cell.swept + 1, heads, 1, 576, 512, 576 * (fp8 ? 1.0 : 2.0)};
      if (2 * 1088 * batch * heads * shape.positions > kOverPeak * device.flops_per_us * cell.microseconds) { ++input.dropped["faster than the peak"]; continue; }
      const double bytes = batch * shape.positions * shape.position_bytes;
      if (bytes > kCold && bytes > kOverBandwidth * device.bytes_per_us * cell.microseconds) { ++input.dropped["over the memory bandwidth"]; continue; }
      (*decodes)[fp8].device = device;
      (*decodes)[fp8].shapes.push_back(shape);
    }
    add_sample(input, table, cell, hash_of({heads, batch}), batch * cell.swept);
  }
  std::vector<FitInput> out;
  for (auto& [fp8, input] : by_type) {
    finish(input, table, std::string(context ? "attention_prefill" : "attention_decode") + (fp8 ? ".fp8" : ".bf16") + ".mla",
           context ? KernelForm::kContextAttention : KernelForm::kDecodeAttention);
    input.start = starts_of(input.form);
    if (floor > 0) {   // the launch cannot be seen in such a table
      input.held.assign(input.start.size(), false);
      input.held[0] = true;
      input.start[0] = 10;
    }
    if (context) input.predict = [contexts, type = fp8](std::size_t i, const double* p) { const auto& s = contexts->at(type); return context_attention_us(s.shapes[i], s.device, p); };
    else input.predict = [decodes, type = fp8](std::size_t i, const double* p) { const auto& s = decodes->at(type); return decode_attention_us(s.shapes[i], s.device, p); };
    out.push_back(std::move(input));
  }
  return out;
}

std::vector<FitInput> attention_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  return table.table.starts_with("context") ? context_inputs(table, hardware) : decode_inputs(table, hardware);
}

}  // namespace shardplan
