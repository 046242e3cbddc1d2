#undef _FORTIFY_SOURCE  // its longjmp takes another coroutine's stack for a frame that has been left

#include "emulated_launch.h"

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace emulated {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr int kLanes = 32;
constexpr unsigned kMostThreads = 1024;

struct Warp {
  int lanes = 0;
  int arrived = 0;
  std::uint64_t generation = 0;
  std::array<std::array<std::uint64_t, kLanes>, 2> slots{};
};

// Begun once, then a thread of every block: what switches costs no system call.
struct Coroutine {
  ucontext_t context{};
  jmp_buf at;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  bool begun = false;
  bool done = false;
};

// The device has one multiprocessor, and that one block.
struct Device {
  std::mutex in_use;
  jmp_buf scheduler;
  std::vector<Coroutine> threads;
  unsigned count = 0;  // threads of the block
  unsigned current = 0;
  unsigned finished = 0;
  bool progress = false;
  Place block, block_dims, grid_dims;
  const std::function<void()>* body = nullptr;
  std::vector<float> shared;
  unsigned arrived = 0;
  std::uint64_t generation = 0;
  std::array<int, 2> votes{};
  std::vector<Warp> warps;
};

Device& device() {
  static Device made;
  return made;
}

void leave() {
  Device& d = device();
  if (_setjmp(d.threads[d.current].at) == 0) _longjmp(d.scheduler, 1);
}

void entry() {
  while (true) {
    Device& d = device();
    (*d.body)();
    d.threads[d.current].done = true;
    ++d.finished;
    d.progress = true;
    leave();
  }
}

void resume(Device& d) {
  Coroutine& thread = d.threads[d.current];
  if (_setjmp(d.scheduler) != 0) return;
  if (thread.begun) _longjmp(thread.at, 1);
  thread.begun = true;
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, entry, 0);
  setcontext(&thread.context);
}

void begin_block(Device& d) {
  d.finished = d.arrived = 0;
  d.generation = 0;
  d.votes = {};
  d.warps.assign((d.count + kLanes - 1) / kLanes, Warp{});
  for (unsigned t = 0; t < d.count; ++t) ++d.warps[t / kLanes].lanes;
  std::fill(d.shared.begin(), d.shared.end(), std::numeric_limits<float>::quiet_NaN());
  for (unsigned t = 0; t < d.count; ++t) d.threads[t].done = false;
}

void run_block(Device& d) {
  begin_block(d);
  while (d.finished < d.count) {
    d.progress = false;
    for (d.current = 0; d.current < d.count; ++d.current) {
      if (!d.threads[d.current].done) resume(d);
    }
    if (d.progress) continue;
    d.threads.clear();  // they would go on where they wait
    throw std::logic_error("threads of a block wait for threads that have left");
  }
}

Place place_in(unsigned linear, Place dims) {
  return {linear % dims.x, linear / dims.x % dims.y, linear / dims.x / dims.y};
}

}  // namespace

Place thread_place() { return place_in(device().current, device().block_dims); }
Place block_place() { return device().block; }
Place block_size() { return device().block_dims; }
Place grid_size() { return device().grid_dims; }
int lane() { return static_cast<int>(device().current % kLanes); }
void* launch_shared() { return device().shared.data(); }

void run_blocks(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread) {
  Device& d = device();
  const std::lock_guard lock(d.in_use);
  d.count = block.x * block.y * block.z;
  if (d.count == 0 || d.count > kMostThreads || grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > 65535 ||
      grid.z > 65535)
    throw std::logic_error("a launch that no device takes");
  if (d.threads.size() < d.count) d.threads.resize(d.count);
  d.block_dims = {block.x, block.y, block.z};
  d.grid_dims = {grid.x, grid.y, grid.z};
  d.body = &thread;
  d.shared.resize(shared_bytes / sizeof(float));
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        d.block = {x, y, z};
        run_block(d);
      }
    }
  }
}

int count_in_block(bool flag) {
  Device& d = device();
  const std::uint64_t own = d.generation;
  int& votes = d.votes[own % 2];
  votes += flag ? 1 : 0;
  if (++d.arrived == d.count) {
    d.arrived = 0;
    d.votes[(own + 1) % 2] = 0;
    ++d.generation;
    d.progress = true;
  }
  while (d.generation == own) leave();
  return d.votes[own % 2];
}

void wait_for_block() { count_in_block(false); }

namespace {

// All lanes' contributions, once all have brought theirs.
const std::array<std::uint64_t, kLanes>& gathered(std::uint64_t own) {
  Device& d = device();
  Warp& warp = d.warps[d.current / kLanes];
  const std::uint64_t round = warp.generation;
  auto& slots = warp.slots[round % 2];
  slots[static_cast<std::size_t>(lane())] = own;
  if (++warp.arrived == warp.lanes) {
    warp.arrived = 0;
    ++warp.generation;
    d.progress = true;
  }
  while (warp.generation == round) leave();
  return slots;
}

}  // namespace

std::uint64_t exchanged(std::uint64_t own, int from) { return gathered(own)[static_cast<std::size_t>(from % kLanes)]; }

std::uint32_t ballot(bool flag) {
  std::uint32_t bits = 0;
  const auto& all = gathered(flag ? 1 : 0);
  for (std::size_t i = 0; i < kLanes; ++i) bits |= all[i] != 0 ? 1U << i : 0U;
  return bits;
}

}  // namespace emulated
