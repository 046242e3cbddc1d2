#include "costmodel/collective_pricer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>

#include "costmodel/collectives/nccl_tuner.h"

namespace shardplan {
namespace {

constexpr int kFirstOctave = 4;
constexpr int kOctaves = 38;
constexpr int kPerOctave = 2;
constexpr int kPoints = kOctaves * kPerOctave + 1;
constexpr double kUnknown = -1;

double grid_bytes(int point) {
  const double octave = std::ldexp(1.0, kFirstOctave + point / kPerOctave);
  return point % kPerOctave == 0 ? octave : octave * 1.5;
}

int grid_point_below(double bytes) {
  int exponent = 0;
  const double mantissa = std::frexp(bytes, &exponent);  // bytes = mantissa * 2^exponent, mantissa in [0.5, 1)
  return (exponent - 1 - kFirstOctave) * kPerOctave + (mantissa >= 0.75 ? 1 : 0);
}

void expand(const std::vector<GroupShape::Axis>& axes, std::size_t depth, int offset, std::vector<int>& out) {
  if (depth == axes.size()) {
    out.push_back(offset);
    return;
  }
  for (std::int64_t i = 0; i < axes[depth].size; ++i)
    expand(axes, depth + 1, offset + static_cast<int>(i * axes[depth].stride), out);
}

std::vector<int> offsets(const std::vector<GroupShape::Axis>& axes) {
  std::vector<int> out;
  expand(axes, 0, 0, out);
  return out;
}

}  // namespace

bool operator<(const GroupShape& a, const GroupShape& b) {
  const auto less = [](const std::vector<GroupShape::Axis>& x, const std::vector<GroupShape::Axis>& y) {
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
      return std::tie(p.size, p.stride) < std::tie(q.size, q.stride);
    });
  };
  if (less(a.members, b.members)) return true;
  if (less(b.members, a.members)) return false;
  return less(a.repeats, b.repeats);
}

struct CollectiveCurve::Impl {
  const HardwareProfile* hardware = nullptr;
  const GroupLinks* links = nullptr;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  PriceMode mode = PriceMode::kCalibrated;
  double sent_ratio = 1;
  TokenCopies tokens;
  bool graph_captured = true;
  std::string source;
  bool symmetric = false;
  mutable std::array<std::atomic<double>, kPoints> grid;

  [[nodiscard]] CollectivePrice direct(double message) const {
    return price_collective({kind, message, message * sent_ratio, moves_tokens(kind) ? tokens.captured : graph_captured, source, message * tokens.token_ratio, tokens.experts_per_token, symmetric},
                            *links, *hardware, mode);
  }
  [[nodiscard]] double at(int point) const {
    double value = grid[static_cast<std::size_t>(point)].load(std::memory_order_relaxed);
    if (value == kUnknown) {
      value = direct(grid_bytes(point)).time.value();
      grid[static_cast<std::size_t>(point)].store(value, std::memory_order_relaxed);
    }
    return value;
  }
};

CollectiveCurve::CollectiveCurve(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  for (auto& value : impl_->grid) value.store(kUnknown, std::memory_order_relaxed);
}
CollectiveCurve::~CollectiveCurve() = default;

CollectivePrice CollectiveCurve::direct(double message_bytes) const { return impl_->direct(message_bytes); }
const GroupLinks& CollectiveCurve::links() const { return *impl_->links; }

Seconds CollectiveCurve::time(double message_bytes) const {
  if (message_bytes <= 0) return Seconds(0);
  const int below = grid_point_below(message_bytes);
  if (below < 0 || below + 1 >= kPoints || impl_->mode == PriceMode::kSpeedOfLight)
    return impl_->direct(message_bytes).time;
  const double low = grid_bytes(below);
  const double high = grid_bytes(below + 1);
  const double share = (message_bytes - low) / (high - low);
  return Seconds(impl_->at(below) * (1 - share) + impl_->at(below + 1) * share);
}

struct CollectivePricer::Impl {
  const HardwareProfile& hardware;
  const Fabric& fabric;
  PriceMode mode;
  bool graph_captured;
  KernelPricer kernels;
  std::shared_mutex mutex;  // of both maps: a search looks up far more often than it adds
  std::map<GroupShape, std::unique_ptr<GroupLinks>> links;
  std::map<std::tuple<CollectiveKind, double, TokenCopies, GroupShape, bool>, std::unique_ptr<CollectiveCurve>> curves;

  const GroupLinks& links_of(const GroupShape& shape) {
    auto& entry = links[shape];
    if (entry) return *entry;
    const std::vector<int> group = offsets(shape.members);
    std::vector<std::vector<int>> others;
    for (const int start : offsets(shape.repeats)) {
      if (start == 0) continue;
      std::vector<int> other = group;
      for (int& device : other) device += start;
      others.push_back(std::move(other));
    }
    entry = std::make_unique<GroupLinks>(fabric.links(group, others));
    return *entry;
  }
};

CollectivePricer::CollectivePricer(const HardwareProfile& hardware, const Fabric& fabric, PriceMode mode,
                                   bool graph_captured, KernelOptions kernels)
    : impl_(new Impl{hardware, fabric, mode, graph_captured, {hardware, std::move(kernels)}, {}, {}, {}}) {}
CollectivePricer::~CollectivePricer() = default;

const HardwareProfile& CollectivePricer::hardware() const { return impl_->hardware; }
PriceMode CollectivePricer::mode() const { return impl_->mode; }
const KernelPricer& CollectivePricer::kernels() const { return impl_->kernels; }

const CollectiveCurve& CollectivePricer::curve(CollectiveKind kind, const GroupShape& group, double sent_ratio, const TokenCopies& tokens,
                                               bool own_kernel) const {
  const auto key = std::make_tuple(kind, sent_ratio, tokens, group, own_kernel);
  {
    const std::shared_lock lock(impl_->mutex);
    const auto found = impl_->curves.find(key);
    if (found != impl_->curves.end()) return *found->second;
  }
  const std::lock_guard lock(impl_->mutex);
  auto& entry = impl_->curves[key];
  if (!entry) {
    auto curve = std::make_unique<CollectiveCurve::Impl>();
    curve->hardware = &impl_->hardware;
    curve->links = &impl_->links_of(group);
    curve->kind = kind;
    curve->mode = impl_->mode;
    curve->sent_ratio = sent_ratio;
    curve->tokens = tokens;
    curve->graph_captured = impl_->graph_captured;
    const int from = impl_->kernels.options().symmetric_from_ranks;
    const auto arch = nccl_arch(impl_->hardware.device);
    curve->symmetric = !own_kernel && from > 0 && curve->links->ranks >= from && arch && *arch >= NcclArch::kHopper;
    const std::vector<std::string>& libraries = impl_->kernels.options().libraries;
    curve->source = libraries.empty() ? "" : libraries.front();
    entry = std::make_unique<CollectiveCurve>(std::move(curve));
  }
  return *entry;
}

}  // namespace shardplan
