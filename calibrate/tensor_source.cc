#include "calibrate/tensor_source.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's output function
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return h;
}

// Inputs that one output of the weight adds up; 0 for a vector.
std::int64_t inputs_of(const Tensor& tensor) {
  std::int64_t inputs = tensor.dims.size() > 1 ? 1 : 0;
  for (const DimExtent& d : tensor.dims) {
    const bool output = std::find(tensor.output_dims.begin(), tensor.output_dims.end(), d.dim) != tensor.output_dims.end();
    if (!output) inputs *= d.extent;
  }
  return inputs;
}

}  // namespace

std::uint64_t TensorSource::key(std::string_view name, Part part, std::int64_t ordinal, std::int64_t layer) const {
  std::uint64_t h = mixed(seed_ ^ hash_of(name));
  h = mixed(h ^ static_cast<std::uint64_t>(part));
  h = mixed(h ^ static_cast<std::uint64_t>(ordinal));
  return mixed(h ^ static_cast<std::uint64_t>(layer));
}

std::uint64_t TensorSource::key(const LogicalGraph& graph, TensorId id, std::int64_t layer) const {
  const Tensor& tensor = graph.tensor(id);
  std::int64_t ordinal = 0;
  for (TensorId other = 0; other < id && tensor.lifetime == Lifetime::kWeight; ++other) {
    const Tensor& t = graph.tensor(other);
    if (t.lifetime == Lifetime::kWeight && t.part == tensor.part && std::string_view(t.name) == tensor.name) ++ordinal;
  }
  return key(tensor.name, tensor.part, ordinal, layer);
}

double TensorSource::uniform(std::uint64_t key, const std::vector<std::int64_t>& indices) const {
  std::uint64_t h = key;
  for (const std::int64_t i : indices) h = mixed(h ^ static_cast<std::uint64_t>(i));
  return static_cast<double>(h >> 40) / 8388608.0 - 1.0;
}

double TensorSource::weight(std::uint64_t key, const std::vector<std::int64_t>& indices, std::int64_t inputs) const {
  const double u = uniform(key, indices);
  return inputs == 0 ? 1.0 + u / 4.0 : u * std::sqrt(3.0 / static_cast<double>(inputs));
}

LocalArray TensorSource::cut(const LogicalGraph& graph, TensorId id, std::int64_t layer, const LocalDims& dims) const {
  const Tensor& tensor = graph.tensor(id);
  const std::uint64_t name = key(graph, id, layer);
  const bool is_weight = tensor.lifetime == Lifetime::kWeight;
  const std::int64_t inputs = inputs_of(tensor);
  LocalArray array(dims);
  std::vector<std::int64_t> indices(dims.size());
  for (std::size_t flat = 0; flat < array.values.size(); ++flat) {
    std::size_t rest = flat;
    for (std::size_t d = dims.size(); d-- > 0;) {
      indices[d] = dims[d].ids[rest % dims[d].ids.size()];
      rest /= dims[d].ids.size();
    }
    array.values[flat] = static_cast<float>(is_weight ? weight(name, indices, inputs) : uniform(name, indices));
  }
  return array;
}

LocalArray TensorSource::token_ids(const LocalDims& dims, std::int64_t vocab) const {
  LocalArray array(dims);
  const std::uint64_t name = key("token_ids", Part::kEmbedding, 0, 0);
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    const double u = (uniform(name, {dims[0].ids[i]}) + 1.0) / 2.0;
    array.values[i] = static_cast<float>(std::floor(u * static_cast<double>(vocab)));
  }
  return array;
}

}  // namespace shardplan
