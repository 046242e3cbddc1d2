#include "costmodel/kernel_pricer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace shardplan {
namespace {

constexpr int kOctaves = 17;
constexpr int kProductPoints = 16;    // tiles and waves make steps: finer than for experts
constexpr int kExpertPoints = 8;

double grid_rows(int point, int per_octave) {
  const int octave = point / per_octave;
  return std::ldexp(1.0 + static_cast<double>(point % per_octave) / per_octave, octave);
}

// Place of `x` >= 1 on a grid with points evenly spaced inside each octave.
double place_of(double x, int per_octave) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent) * 2 - 1;    // x = (1 + mantissa) * 2^(exponent-1)
  return (exponent - 1 + mantissa) * per_octave;
}

constexpr int kBatchOctaves = 13, kBatchPoints = 8;
constexpr int kPositionOctaves = 22, kPositionPoints = 4;
constexpr std::size_t kBatchSize = kBatchOctaves * kBatchPoints + 1;
constexpr std::size_t kPositionSize = kPositionOctaves * kPositionPoints + 1;

using Key = std::vector<double>;

Key key_of(const KernelModel& model, const std::vector<double>& shape) {
  Key key{static_cast<double>(reinterpret_cast<std::uintptr_t>(&model))};
  key.insert(key.end(), shape.begin(), shape.end());
  return key;
}

}  // namespace

RowCurve::RowCurve(int points_per_octave, const std::function<double(double)>& us) : per_octave_(points_per_octave) {
  double highest = 0;
  for (int i = 0; i <= kOctaves * per_octave_; ++i) {
    highest = std::max(highest, us(grid_rows(i, per_octave_)));
    values_.push_back(highest);
  }
}

double RowCurve::us(double rows) const {
  if (rows <= 1) return values_.front();
  const double place = place_of(rows, per_octave_);
  const auto last = static_cast<double>(values_.size() - 1);
  if (place < last) {
    const auto below = static_cast<std::size_t>(place);
    return values_[below] + (values_[below + 1] - values_[below]) * (place - static_cast<double>(below));
  }
  const std::size_t n = values_.size();
  const double slope = (values_[n - 1] - values_[n - 1 - static_cast<std::size_t>(per_octave_)]) / std::ldexp(0.5, kOctaves);
  return values_.back() + slope * (rows - std::ldexp(1.0, kOctaves));
}

PlaneCurve::PlaneCurve(std::function<double(double, double)> us) : direct_(std::move(us)), values_(kBatchSize * kPositionSize) {}

double PlaneCurve::at(std::size_t i, std::size_t j) const {
  std::atomic<float>& slot = values_[i * kPositionSize + j];
  float value = slot.load(std::memory_order_relaxed);
  if (value == 0) {
    value = static_cast<float>(direct_(grid_rows(static_cast<int>(i), kBatchPoints), grid_rows(static_cast<int>(j), kPositionPoints)));
    slot.store(value, std::memory_order_relaxed);
  }
  return static_cast<double>(value);
}

double PlaneCurve::us(double x, double y) const {
  const double row = place_of(std::max(x, 1.0), kBatchPoints);
  const double column = place_of(std::max(y, 1.0), kPositionPoints);
  if (row >= kBatchSize - 1 || column >= kPositionSize - 1) return direct_(x, y);
  const auto i = static_cast<std::size_t>(row);
  const auto j = static_cast<std::size_t>(column);
  const double down = row - static_cast<double>(i);
  const double right = column - static_cast<double>(j);
  const double low = at(i, j) + (at(i, j + 1) - at(i, j)) * right;
  if (down == 0) return low;
  const double high = at(i + 1, j) + (at(i + 1, j + 1) - at(i + 1, j)) * right;
  return low + (high - low) * down;
}

struct KernelPricer::Impl {
  const HardwareProfile& hardware;
  KernelOptions options;
  mutable std::shared_mutex mutex;
  mutable std::map<Key, std::unique_ptr<RowCurve>> curves;
  mutable std::map<Key, std::unique_ptr<PlaneCurve>> planes;

  const RowCurve& curve(const Key& key, int per_octave, const std::function<double(double)>& us) const {
    {
      const std::shared_lock lock(mutex);
      if (const auto found = curves.find(key); found != curves.end()) return *found->second;
    }
    auto made = std::make_unique<RowCurve>(per_octave, us);
    const std::unique_lock lock(mutex);
    auto& entry = curves[key];
    if (!entry) entry = std::move(made);
    return *entry;
  }

  [[nodiscard]] const KernelModel* find(const std::string& key) const {
    const auto& rows = hardware.kernel_models;
    for (const std::string& library : options.libraries) {
      if (const auto row = rows.find(key + "@" + library); row != rows.end()) return &row->second;
    }
    const auto row = rows.find(key);
    return row == rows.end() ? nullptr : &row->second;
  }
};

KernelPricer::KernelPricer(const HardwareProfile& hardware, KernelOptions options)
    : impl_(new Impl{hardware, std::move(options), {}, {}, {}}) {}
KernelPricer::~KernelPricer() = default;
const KernelOptions& KernelPricer::options() const { return impl_->options; }

const KernelModel* KernelPricer::model(const std::string& family, const std::string& format) const {
  return impl_->find(family + "." + std::string(row_format(format)));
}

const KernelModel* KernelPricer::attention_model(const std::string& family, const std::string& format, const AttentionShape& shape) const {
  const std::array<std::string, 2> formats{std::string(row_format(format)), "bf16"};
  for (const std::string& name : formats) {
    const std::string base = family + "." + name;
    if (shape.latent) {
      if (const KernelModel* row = impl_->find(base + ".mla")) return row;
    }
    const KernelModel* best = nullptr;
    double distance = 1e300;
    for (const int dim : {64, 128, 192, 256, 512}) {
      const std::string key = base + ".d" + std::to_string(dim);
      const KernelModel* row = shape.window > 0 ? impl_->find(key + ".window") : nullptr;
      if (row == nullptr) row = impl_->find(key);
      const double d = std::abs(std::log((shape.qk_dim + shape.v_dim) / 2 / dim));
      if (row == nullptr || d >= distance) continue;
      best = row;
      distance = d;
    }
    if (best != nullptr) return best;
  }
  return nullptr;
}

const RowCurve& KernelPricer::gemm(const KernelModel& model, const GemmShape& shape, const KernelDevice& device) const {
  const Key key = key_of(model, {shape.n, shape.k, shape.batch, shape.weight_bytes, shape.input_bytes, device.flops_per_us});
  return impl_->curve(key, kProductPoints, [&](double rows) {
    GemmShape s = shape;
    s.m = rows;
    const double product = tile_gemm_us(s, device, model.parameters.data(), model.tiles);
    return product + (impl_->options.quantisation_apart ? quantisation_us(s, device, model.parameters.data()) : 0);
  });
}

const PlaneCurve& KernelPricer::decode_attention(const KernelModel& model, const AttentionShape& shape, const KernelDevice& device) const {
  const Key key = key_of(model, {shape.heads, shape.kv_heads, shape.qk_dim, shape.v_dim, shape.position_bytes});
  const std::unique_lock lock(impl_->mutex);
  auto& plane = impl_->planes[key];
  if (!plane) {
    plane = std::make_unique<PlaneCurve>([&model, shape, device](double batch, double positions) {
      return decode_attention_us({.batch = batch, .positions = positions, .heads = shape.heads, .kv_heads = shape.kv_heads, .qk_dim = shape.qk_dim,
                                  .v_dim = shape.v_dim, .position_bytes = shape.position_bytes}, device, model.parameters.data());
    });
  }
  return *plane;
}

const RowCurve& KernelPricer::experts(const KernelModel& model, const ExpertsShape& shape, const ExpertLoadModel& load, const KernelDevice& device) const {
  Key key = key_of(model, {shape.per_token, shape.experts, shape.hidden, shape.width, shape.matrices, shape.weight_bytes, device.flops_per_us});
  const std::vector<double> signature = load.signature();
  key.insert(key.end(), signature.begin(), signature.end());
  return impl_->curve(key, kExpertPoints, [&](double tokens) {
    ExpertsShape s = shape;
    s.captured = true;
    s.tokens = tokens;
    s.rows = load.busiest_rows(tokens);
    s.active = load.busiest_hits(tokens);
    for (std::size_t i = 0; i < kGroupTiles.size(); ++i) s.tiles[i] = load.busiest_tiles(tokens, kGroupTiles[i]);
    return grouped_gemm_us(s, device, model.parameters.data());
  });
}

}  // namespace shardplan
