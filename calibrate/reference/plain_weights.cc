#include "calibrate/reference/plain_weights.h"

#include <cmath>

#include "calibrate/kernels/norm.h"
#include "calibrate/kernels/rotary.h"

namespace shardplan {

Vector PlainWeight::times(std::vector<std::int64_t> prefix, std::int64_t outputs, const Vector& x) const {
  Vector y(static_cast<std::size_t>(outputs), 0.0);
  prefix.resize(prefix.size() + 2);
  for (std::int64_t o = 0; o < outputs; ++o) {
    prefix[prefix.size() - 2] = o;
    for (std::size_t i = 0; i < x.size(); ++i) {
      prefix.back() = static_cast<std::int64_t>(i);
      y[o] += at(prefix) * x[i];
    }
  }
  return y;
}

Vector plain_norm(const Vector& x, const PlainWeight& weight) {
  double sum = 0.0;
  for (const double v : x) sum += v * v;
  const double root = std::sqrt(sum / static_cast<double>(x.size()) + kNormEpsilon);
  Vector y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[i] / root * weight.at({static_cast<std::int64_t>(i)}));
  return y;
}

Vector plain_rotary(Vector x, std::int64_t columns, std::int64_t position) {
  const auto first = static_cast<std::int64_t>(x.size()) - columns;
  const std::int64_t half = columns / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * std::pow(kRotaryBase, -2.0 * static_cast<double>(i) / static_cast<double>(columns));
    const double a = x[first + i];
    const double b = x[first + half + i];
    x[first + i] = a * std::cos(angle) - b * std::sin(angle);
    x[first + half + i] = a * std::sin(angle) + b * std::cos(angle);
  }
  return x;
}

double plain_silu(double x) { return x / (1.0 + std::exp(-x)); }

Vector PlainLayer::row(const char* name, Part part, std::vector<std::int64_t> indices, std::int64_t width) const {
  const std::uint64_t key = source.key(name, part, 0, layer);
  indices.push_back(0);
  Vector values;
  for (indices.back() = 0; indices.back() < width; ++indices.back()) values.push_back(source.uniform(key, indices));
  return values;
}

}  // namespace shardplan
