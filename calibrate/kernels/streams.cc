#include "calibrate/kernels/streams.h"

#include <cmath>

namespace shardplan {
namespace {

constexpr int kRounds = 4;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// Rows (or columns) of a square matrix to sum one.
void scale_to_one(std::vector<double>& a, std::int64_t n, bool rows) {
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < n; ++j) sum += a[rows ? i * n + j : j * n + i];
    for (std::int64_t j = 0; j < n; ++j) a[rows ? i * n + j : j * n + i] /= sum;
  }
}

std::int64_t streams_of(const LocalArray& x) { return static_cast<std::int64_t>(x.ids(Dim::kStreams).size()); }

}  // namespace

StreamMix stream_mix(const float* weights, std::int64_t streams) {
  StreamMix mix;
  for (std::int64_t s = 0; s < streams; ++s) {
    mix.read.push_back(sigmoid(weights[s]));
    mix.write.push_back(2.0 * sigmoid(weights[streams + s]));
  }
  for (std::int64_t i = 0; i < streams * streams; ++i) mix.among.push_back(std::exp(weights[2 * streams + i]));
  for (int round = 0; round < kRounds; ++round) {
    scale_to_one(mix.among, streams, true);
    scale_to_one(mix.among, streams, false);
  }
  return mix;
}

void read_streams(const LocalArray& x, const LocalArray* mix, LocalArray& out) {
  const std::int64_t streams = streams_of(x);
  const std::int64_t hidden = x.columns();
  const auto from = offsets_of(x.dims, {out.dims.front()}, "streams");
  std::vector<std::int64_t> weights;
  if (mix != nullptr) weights = offsets_of(mix->dims, {out.dims.front()}, "mixing weights");
  for (std::size_t t = 0; t < from.size(); ++t) {
    std::vector<double> read(static_cast<std::size_t>(streams), 1.0 / static_cast<double>(streams));
    if (mix != nullptr) read = stream_mix(mix->values.data() + weights[t], streams).read;
    for (std::int64_t h = 0; h < hidden; ++h) {
      double sum = 0.0;
      for (std::int64_t s = 0; s < streams; ++s) sum += read[s] * x.values[from[t] + s * hidden + h];
      out.values[static_cast<std::int64_t>(t) * hidden + h] = static_cast<float>(sum);
    }
  }
}

void copy_to_streams(const LocalArray& x, LocalArray& out) {
  const auto from = offsets_of(x.dims, out.dims, "x of streams");
  for (std::size_t i = 0; i < from.size(); ++i) out.values[i] = x.values[from[i]];
}

void write_streams(const LocalArray& x, const LocalArray& branch, const LocalArray& mix, LocalArray& out) {
  const std::int64_t streams = streams_of(x);
  const std::int64_t hidden = x.columns();
  const auto from = offsets_of(x.dims, {out.dims.front()}, "streams");
  const auto added = offsets_of(branch.dims, {out.dims.front()}, "block's output");
  const auto weights = offsets_of(mix.dims, {out.dims.front()}, "mixing weights");
  for (std::size_t t = 0; t < from.size(); ++t) {
    const StreamMix of = stream_mix(mix.values.data() + weights[t], streams);
    for (std::int64_t s = 0; s < streams; ++s) {
      for (std::int64_t h = 0; h < hidden; ++h) {
        double sum = of.write[s] * branch.values[added[t] + h];
        for (std::int64_t j = 0; j < streams; ++j)
          sum += of.among[s * streams + j] * x.values[from[t] + j * hidden + h];
        out.values[(static_cast<std::int64_t>(t) * streams + s) * hidden + h] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace shardplan
