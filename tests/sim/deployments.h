// Small deployments on a linear step law, and the records that they leave.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/linear_timer.h"
#include "sim/simulation.h"
#include "sim/workloads/request_source.h"

namespace shardplan {

inline constexpr std::int64_t kMillisecond = 1'000'000'000;   // picoseconds

// 10 ms per step, 1 ms per prompt token and per decode.
[[nodiscard]] inline LinearLaw round_law() {
  return {.fixed = SimTime(10 * kMillisecond), .per_decode = SimTime(kMillisecond), .per_position = SimTime(0), .per_prompt_token = SimTime(kMillisecond)};
}

// Requests at given times.
class ListedSource : public RequestSource {
 public:
  struct Row {
    std::int64_t milliseconds = 0;
    std::int64_t prompt_tokens = 1;
    std::int64_t output_tokens = 1;
    std::vector<std::uint64_t> hashes = {};
  };
  explicit ListedSource(std::vector<Row> rows, std::int64_t hash_tokens = 16) : rows_(std::move(rows)), hash_tokens_(hash_tokens) {}
  std::optional<SimTime> next_arrival() override {
    if (next_ == rows_.size()) return std::nullopt;
    return SimTime(rows_[next_].milliseconds * kMillisecond);
  }
  void take(RequestSpec& out) override {
    const Row& row = rows_[next_];
    out.id = static_cast<std::int64_t>(next_++);
    out.arrival = SimTime(row.milliseconds * kMillisecond);
    out.prompt_tokens = row.prompt_tokens;
    out.output_tokens = row.output_tokens;
    out.hashes = row.hashes;
    out.hash_tokens = hash_tokens_;
  }

 private:
  std::vector<Row> rows_;
  std::int64_t hash_tokens_;
  std::size_t next_ = 0;
};

class KeptRecords : public RecordSink {
 public:
  void add(const RequestRecord& record) override { all.push_back(record); }
  // By id.
  [[nodiscard]] const RequestRecord& of(std::int64_t id) const {
    for (const RequestRecord& record : all) {
      if (record.id == id) return record;
    }
    throw InternalError("no such record");
  }
  std::vector<RequestRecord> all;
};

[[nodiscard]] inline double milliseconds(SimTime time) { return static_cast<double>(time.value()) / static_cast<double>(kMillisecond); }

// A run of listed requests; `change` adjusts the defaults: one instance of 1000 blocks of 16, budget 64, synchronous.
struct ListedRun {
  template <class Change>
  ListedRun(std::vector<ListedSource::Row> rows, const Change& change) : timer(round_law()), source(std::move(rows)) {
    input.pool.timer = &timer;
    input.pool.instance = {.limits = {.max_batched_tokens = 64, .max_sequences = 16}, .blocks = 1000, .async_scheduling = false};
    input.source = &source;
    input.records = &records;
    change(input);
    result = simulate(input);
  }
  LinearTimer timer;
  ListedSource source;
  KeptRecords records;
  SimulationInput input;
  SimulationResult result;
};

}  // namespace shardplan
