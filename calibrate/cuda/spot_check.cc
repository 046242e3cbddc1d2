#include "calibrate/cuda/spot_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "calibrate/cuda/device_timer.h"

namespace shardplan::cuda {

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

float from_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3U & 0xFU;
  const int mantissa = bits & 7U;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 0x80U) != 0 ? -size : size;
}

std::vector<float> numbers_of(const Buffer<char>& buffer, ProductFormat format, std::int64_t first,
                              std::int64_t count) {
  return numbers_of(buffer, format, {.first = first, .count = count, .stride = count});
}

std::vector<float> numbers_of(const Buffer<char>& buffer, ProductFormat format, const RunsOfNumbers& runs) {
  const std::int64_t width = bytes_of(format);
  const std::int64_t end = runs.first + (runs.rows - 1) * runs.stride + runs.count;
  ensure(runs.first >= 0 && runs.rows > 0 && runs.stride >= runs.count && end * width <= buffer.size(),
         "numbers beyond a buffer");
  const auto row = static_cast<std::size_t>(runs.count * width);
  std::vector<std::uint8_t> bytes(row * static_cast<std::size_t>(runs.rows));
  check(
      cudaMemcpy2D(bytes.data(), row, buffer.get() + runs.first * width, static_cast<std::size_t>(runs.stride * width),
                   row, static_cast<std::size_t>(runs.rows), cudaMemcpyDeviceToHost),
      "copy from the device");
  std::vector<float> numbers;
  for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(width)) {
    if (format == ProductFormat::kFp8) {
      numbers.push_back(from_e4m3(bytes[i]));
    } else if (format == ProductFormat::kBf16) {
      numbers.push_back(from_bf16(static_cast<std::uint16_t>(bytes[i] | bytes[i + 1] << 8U)));
    } else {
      std::uint32_t bits = 0;
      for (std::size_t b = 0; b < 4; ++b) bits |= static_cast<std::uint32_t>(bytes[i + b]) << (8 * b);
      numbers.push_back(std::bit_cast<float>(bits));
    }
  }
  return numbers;
}

bool is_product_row(const ProductRow& at, const Buffer<char>& x, const Buffer<char>& w, const Buffer<char>& out) {
  const std::vector<float> row = numbers_of(x, at.format, at.row * at.k, at.k);
  const ProductFormat made = at.format == ProductFormat::kFp32 ? ProductFormat::kFp32 : ProductFormat::kBf16;
  for (const std::int64_t column : {std::int64_t{0}, at.n / 2, at.n - 1}) {
    const std::vector<float> weights = numbers_of(w, at.format, (at.matrix * at.n + column) * at.k, at.k);
    double sum = 0;
    double squares = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double product = static_cast<double>(row[c]) * static_cast<double>(weights[c]);
      sum += product;
      squares += product * product;
    }
    const double got = static_cast<double>(numbers_of(out, made, at.row * at.n + column, 1).front());
    const double allowed = 0.02 * std::sqrt(squares) * 3 + std::abs(sum) / 64 + 1e-6;
    if (!(std::abs(got - sum) <= allowed)) return false;
  }
  return true;
}

std::vector<double> attended(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                             double scale) {
  const std::size_t keys = k.size() / q.size();
  const std::size_t width = v.size() / keys;
  std::vector<double> scores;
  for (std::size_t i = 0; i < keys; ++i) {
    double score = 0;
    for (std::size_t c = 0; c < q.size(); ++c)
      score += static_cast<double>(q[c]) * static_cast<double>(k[i * q.size() + c]);
    scores.push_back(score * scale);
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  std::vector<double> out(width, 0);
  double sum = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    const double weight = std::exp(scores[i] - most);
    sum += weight;
    for (std::size_t c = 0; c < width; ++c) out[c] += weight * static_cast<double>(v[i * width + c]);
  }
  for (double& x : out) x /= sum;
  return out;
}

bool are_close(const std::vector<float>& got, const std::vector<double>& expected, double tolerance) {
  double most = 0;
  for (const double x : expected) most = std::max(most, std::abs(x));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(static_cast<double>(got[i]) - expected[i]) <= tolerance * most)) return false;
  }
  return true;
}

}  // namespace shardplan::cuda
