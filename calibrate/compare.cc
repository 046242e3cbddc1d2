#include "calibrate/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/errors.h"
#include "calibrate/nodes/lse_merge.h"

namespace shardplan {
namespace {

// Tensors that lowering adds on the way to the experts and back stand for those of the logical graph.
std::map<TensorId, TensorId> originals(const StepGraph& graph) {
  std::map<TensorId, TensorId> result;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kDispatch) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        result[graph.value(node.outputs[i]).tensor] = graph.value(node.inputs[i]).tensor;
      }
    } else if (node.kind == NodeKind::kCombine) {
      result[graph.value(node.inputs[0]).tensor] = graph.value(node.outputs[0]).tensor;
    }
  }
  return result;
}

// Infinity where one of the two is no number.
double difference_of(float a, float b) {
  const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

class Comparer {
 public:
  Comparer(const GraphResult& sharded, const GraphResult& whole, const Allowance& allowance)
      : sharded_(sharded), originals_(originals(*sharded.graph)), allowance_(allowance) {
    for (std::size_t v = 0; v < whole.graph->values.size(); ++v) {
      const LocalArray& array = whole.values[0][v];
      if (!array.dims.empty()) references_[whole.graph->values[v].tensor] = &array;
    }
  }

  Comparison run() {
    for (std::size_t v = 0; v < sharded_.graph->values.size(); ++v) {
      const Value& value = sharded_.graph->values[v];
      const bool computed = !array(v, 0).dims.empty();
      const Tensor& tensor = sharded_.graph->logical.tensor(value.tensor);
      const bool named = tensor.format == &candidate_format();   // what is chosen among them has a reference
      if (!computed || named || tensor.lifetime == Lifetime::kWeight) continue;
      allowed_ = allowed(v);
      if (value.placement.sum.empty() && value.placement.lse.empty()) compare_direct(v);
      else compare_partial(v);
    }
    return result_;
  }

 private:
  [[nodiscard]] const LocalArray& array(std::size_t value, int rank) const { return sharded_.values[static_cast<std::size_t>(rank)][value]; }
  [[nodiscard]] int ranks() const { return static_cast<int>(sharded_.values.size()); }
  [[nodiscard]] const char* name(std::size_t value) const { return sharded_.graph->tensor_of(static_cast<ValueId>(value)).name; }

  [[nodiscard]] TensorId original(std::size_t value) const {
    const TensorId tensor = sharded_.graph->values[value].tensor;
    const auto found = originals_.find(tensor);
    return found != originals_.end() ? found->second : tensor;
  }

  [[nodiscard]] double allowed(std::size_t value) const {
    const auto found = allowance_.of_tensor.find(original(value));
    return found == allowance_.of_tensor.end() ? allowance_.least : std::max(allowance_.least, found->second);
  }

  [[nodiscard]] const LocalArray& reference(std::size_t value) const {
    const TensorId tensor = original(value);
    const auto it = references_.find(tensor);
    if (it == references_.end()) throw InternalError(std::string("no reference for ") + name(value));
    return *it->second;
  }

  [[nodiscard]] bool is_held() const { return allowed_ <= kMostAllowed; }

  void note(std::size_t value, int rank, float got, float want, double scale) {
    const double difference = difference_of(got, want);
    if (std::isfinite(difference) && !is_held()) return;
    const double error = difference / scale;
    result_.worst_error_ratio = std::max(result_.worst_error_ratio, error);
    const double share = std::isfinite(error) ? error / allowed_ : error;
    if (share <= result_.worst_share_ratio) return;
    result_.worst_share_ratio = share;
    result_.worst_tensor = name(value);
    result_.worst_rank = rank;
  }

  static double scale_of(const LocalArray& reference) {
    double most = 1e-30;
    for (const float x : reference.values) most = std::max(most, std::abs(static_cast<double>(x)));
    return most;
  }

  void compare_direct(std::size_t value) {
    const LocalArray& want = reference(value);
    const double scale = scale_of(want);
    for (int rank = 0; rank < ranks(); ++rank) {
      const LocalArray& got = array(value, rank);
      const auto at = offsets_of(want.dims, got.dims, name(value));
      for (std::size_t i = 0; i < got.values.size(); ++i) {
        const auto w = static_cast<std::size_t>(got.width);
        note(value, rank, got.values[i], want.values[at[i / w] * got.width + i % w], scale);
      }
      ++result_.values;
      if (!is_held()) ++result_.unheld;
    }
  }

  // Adds all of a group into the reference's shape and compares what somebody held.
  void compare_partial(std::size_t value) {
    const Placement& placement = sharded_.graph->values[value].placement;
    const LocalArray& want = reference(value);
    const double scale = scale_of(want);
    for (const auto& group : sharded_.graph->mesh.groups(placement.sum | placement.lse | placement.routed)) {
      const auto whole_lse = placement.lse.empty() ? std::vector<float>{} : merged(value, group, want);
      std::vector<float> sum(want.values.size(), 0.0F);
      std::vector<bool> held(want.values.size(), false);
      for (const int rank : group) {
        const LocalArray& part = array(value, rank);
        const auto at = offsets_of(want.dims, part.dims, name(value));
        const auto rows = offsets_of(row_dims(want.dims), row_dims(part.dims), name(value));
        for (std::size_t i = 0; i < at.size(); ++i) {
          const auto row = static_cast<std::int64_t>(i) / part.columns();
          const float weight = placement.lse.empty() ? 1.0F : lse_weight(part.lse[row], whole_lse[rows[row]]);
          sum[at[i]] += weight * part.values[i];
          held[at[i]] = true;
        }
      }
      for (std::size_t i = 0; i < sum.size(); ++i) {
        if (held[i]) note(value, group.front(), sum[i], want.values[i], scale);
      }
      ++result_.partials;
      if (!is_held()) ++result_.unheld;
    }
  }

  [[nodiscard]] std::vector<float> merged(std::size_t value, const std::vector<int>& group, const LocalArray& want) const {
    std::vector<std::vector<float>> parts;
    for (const int rank : group) {
      const LocalArray& part = array(value, rank);
      std::vector<float> lse(static_cast<std::size_t>(want.rows()), -std::numeric_limits<float>::infinity());
      const auto rows = offsets_of(row_dims(want.dims), row_dims(part.dims), name(value));
      for (std::size_t i = 0; i < rows.size(); ++i) lse[rows[i]] = part.lse[i];
      parts.push_back(std::move(lse));
    }
    return merged_lse(parts);
  }

  const GraphResult& sharded_;
  std::map<TensorId, TensorId> originals_;
  std::map<TensorId, const LocalArray*> references_;
  const Allowance& allowance_;
  double allowed_ = 0;   // of the value that is compared
  Comparison result_;
};

}  // namespace

void Comparison::absorb(const Comparison& other) {
  values += other.values;
  partials += other.partials;
  unheld += other.unheld;
  worst_error_ratio = std::max(worst_error_ratio, other.worst_error_ratio);
  if (other.worst_share_ratio <= worst_share_ratio) return;
  worst_share_ratio = other.worst_share_ratio;
  worst_tensor = other.worst_tensor;
  worst_rank = other.worst_rank;
}

Comparison compare(const GraphResult& sharded, const GraphResult& whole, const Allowance& allowance) {
  return Comparer(sharded, whole, allowance).run();
}

TensorErrors tensor_errors(const GraphResult& run, const GraphResult& other) {
  TensorErrors errors;
  for (std::size_t v = 0; v < other.graph->values.size(); ++v) {
    const LocalArray& want = other.values[0][v];
    const LocalArray& got = run.values[0][v];
    if (want.dims.empty() || got.values.size() != want.values.size()) continue;
    double largest = 1e-30;
    double difference = 0;
    for (std::size_t i = 0; i < want.values.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(want.values[i])));
      difference = std::max(difference, difference_of(got.values[i], want.values[i]));
    }
    double& worst = errors[other.graph->values[v].tensor];
    worst = std::max(worst, difference / largest);
  }
  return errors;
}

}  // namespace shardplan
