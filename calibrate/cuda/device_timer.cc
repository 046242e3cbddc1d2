#include "calibrate/cuda/device_timer.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "calibrate/cuda/clocks.h"
#include "calibrate/cuda/launchers.h"

namespace shardplan::cuda {
namespace {

constexpr double kRotatingBytes = 150e6;  // more than the L2 of any of these devices
constexpr int kMostCopies = 32;

double seconds_of(cudaStream_t stream, const std::function<void()>& work) {
  Event start;
  Event end;
  start.record(stream);
  work();
  end.record(stream);
  return end.seconds_since(start);
}

// nullptr where the library's calls cannot be captured.
std::unique_ptr<CapturedGraph> captured(cudaStream_t stream, int rounds, const std::function<void()>& round) {
  try {
    return std::make_unique<CapturedGraph>(stream, [&] {
      for (int i = 0; i < rounds; ++i) round();
    });
  } catch (const DeviceMemoryError&) {
    throw;
  } catch (const EnvironmentError&) {
    return nullptr;
  }
}

}  // namespace

std::int64_t field(const NodeCase& c, const char* name) {
  for (const auto& [key, value] : c.shape) {
    if (key == name) return value;
  }
  return 0;
}

int copies_of(double bytes) {
  return static_cast<int>(std::clamp(kRotatingBytes / std::max(bytes, 1.0), 1.0, static_cast<double>(kMostCopies)));
}

DeviceTiming sampled(const OwnedStream& stream, int copies, const StoppingRule& rule, const std::string& note,
                     const std::function<void()>& round) {
  round();  // loads what is loaded when first used
  stream.wait();
  const int rounds = rounds_of_graph(seconds_of(stream.get(), round));
  const auto graph = captured(stream.get(), rounds, round);
  const auto replay = [&] {
    if (graph != nullptr) return graph->launch(stream.get());
    for (int i = 0; i < rounds; ++i) round();
  };
  replay();
  stream.wait();
  std::vector<double> samples;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  do {
    replay();  // while it runs, the host queues what is timed
    samples.push_back(seconds_of(stream.get(), replay) / (rounds * copies));
  } while (!rule.is_enough(samples, elapsed()));
  const std::size_t count = samples.size();
  const DeviceClock clock = device_clock(0);
  const std::string held_back = clock.held_back.empty() ? "" : "; held back by " + clock.held_back;
  const std::string eager = graph == nullptr ? ", launched one by one" : "";
  return {summary_of(std::move(samples)), count, clock.sm_mhz, note + eager + held_back};
}

Buffer<float> random_floats(std::int64_t count, std::uint64_t seed, cudaStream_t stream) {
  Buffer<float> buffer(count);
  launch_random(buffer.get(), seed, count, stream);
  check(cudaStreamSynchronize(stream), "random data");
  return buffer;
}

std::int64_t bytes_of(ProductFormat format) {
  return format == ProductFormat::kFp32 ? 4 : format == ProductFormat::kFp8 ? 1 : 2;
}

Buffer<char> random_operand(std::int64_t count, ProductFormat format, std::uint64_t seed, cudaStream_t stream) {
  Buffer<char> operand(count * bytes_of(format));
  if (format == ProductFormat::kFp32) {
    launch_random(reinterpret_cast<float*>(operand.get()), seed, count, stream);
  } else {
    constexpr std::int64_t kChunk = 1 << 26;
    const Buffer<float> floats(std::min(count, kChunk));
    for (std::int64_t first = 0; first < count; first += kChunk) {
      const std::int64_t here = std::min(count - first, kChunk);
      char* to = operand.get() + first * bytes_of(format);
      launch_random(floats.get(), seed + static_cast<std::uint64_t>(first), here, stream);
      if (format == ProductFormat::kFp8)
        launch_to_fp8(floats.get(), to, 1.0F, here, stream);
      else
        launch_to_bf16(floats.get(), to, here, stream);
    }
    check(cudaStreamSynchronize(stream), "random data");
  }
  check(cudaStreamSynchronize(stream), "random data");
  return operand;
}

}  // namespace shardplan::cuda
