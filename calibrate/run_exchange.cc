#include "calibrate/run_exchange.h"

#include <algorithm>

#include "calibrate/byte_stream.h"

namespace shardplan {
namespace {

void write(ByteWriter& out, const LocalArray& array) {
  out.number(static_cast<std::int64_t>(array.dims.size()));
  for (const LocalDim& dim : array.dims) {
    out.number(static_cast<std::int64_t>(dim.dim));
    out.numbers(dim.ids);
  }
  out.number(std::int64_t{array.width});
  out.numbers(array.values);
  out.numbers(array.lse);
}

LocalArray read_array(ByteReader& in) {
  LocalArray array;
  for (auto left = in.number<std::int64_t>(); left > 0; --left) {
    const auto dim = static_cast<Dim>(in.number<std::int64_t>());
    array.dims.push_back({dim, in.numbers<std::int64_t>()});
  }
  array.width = static_cast<int>(in.number<std::int64_t>());
  array.values = in.numbers<float>();
  array.lse = in.numbers<float>();
  return array;
}

}  // namespace

void exchange_values(Transport& transport, Transport::Milliseconds timeout, RunResult& result) {
  if (!transport.several_processes()) return;
  ByteWriter out;
  for (const GraphResult& graph : result.graphs) {
    for (const auto& values : graph.values) {
      out.number(static_cast<std::int64_t>(values.size()));
      for (const LocalArray& array : values) write(out, array);
    }
  }
  for (const std::string& text : transport.share(out.take(), timeout)) {
    ByteReader in(text);
    for (GraphResult& graph : result.graphs) {
      for (auto& values : graph.values) {
        const auto count = in.number<std::int64_t>();
        if (count == 0) continue;
        values.clear();
        for (std::int64_t i = 0; i < count; ++i) values.push_back(read_array(in));
      }
    }
  }
}

TimedRun slowest_of(Transport& transport, Transport::Milliseconds timeout, const std::vector<std::vector<Sample>>& samples,
                    const std::vector<HeldBytes>& held) {
  ByteWriter out;
  for (std::size_t rank = 0; rank < samples.size(); ++rank) {
    out.numbers(samples[rank]);
    out.number(held[rank]);
  }
  TimedRun run;
  for (const std::string& text : transport.share(out.take(), timeout)) {
    ByteReader in(text);
    for (std::size_t rank = 0; rank < samples.size(); ++rank) {
      const auto of_rank = in.numbers<Sample>();
      run.held.absorb(in.number<HeldBytes>());
      run.samples.resize(std::max(run.samples.size(), of_rank.size()));
      for (std::size_t i = 0; i < of_rank.size(); ++i) run.samples[i].absorb(of_rank[i]);
    }
  }
  return run;
}

}  // namespace shardplan
