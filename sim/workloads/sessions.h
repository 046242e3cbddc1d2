// Conversations: each turn's prompt is all that was said before, and something new.
//
// Sessions begin by an arrival process, or `concurrency` of them are always under way and the next one begins when one has
// ended; a turn follows the answer to the one before after an exponential pause. Every
// session opens with the same system prompt. Identities of whole blocks are hashes of (session, place), or of the place
// alone inside the system prompt, so that a cache finds the shared prefix. Memory grows with sessions under way only.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "sim/workloads/arrivals.h"
#include "sim/workloads/lengths.h"
#include "sim/workloads/request_source.h"

namespace shardplan {

struct SessionSettings {
  std::int64_t sessions = 1;
  std::int64_t turns = 1;              // of each session
  std::int64_t concurrency = 0;        // sessions under way in a closed loop; 0: they begin by the arrival process
  std::int64_t system_tokens = 0;      // the same at the start of every session
  std::int64_t hash_tokens = 16;       // tokens that one identity stands for
  Seconds pause;                       // mean time from an answer to the next turn
  std::uint64_t seed = 0;
};

class Sessions : public RequestSource {
 public:
  // `lengths`: new prompt tokens and output tokens of one turn. `arrivals` may be null in a closed loop. InputError on
  // counts that are not positive.
  Sessions(const SessionSettings& settings, std::unique_ptr<ArrivalProcess> arrivals, std::unique_ptr<LengthModel> lengths);
  std::optional<SimTime> next_arrival() override;
  void take(RequestSpec& out) override;
  void ended(const RequestSpec& request, SimTime now) override;

 private:
  struct Turn {
    SimTime time;
    std::int64_t session = 0;
    std::int64_t turn = 0;
    std::int64_t said = 0;   // tokens of the conversation so far
    [[nodiscard]] bool operator>(const Turn& other) const { return time != other.time ? time > other.time : session > other.session; }
  };
  struct Waiting {
    std::int64_t session = 0;
    std::int64_t turn = 0;
  };
  void open_next();
  void open(SimTime time);
  void hash_prefix(RequestSpec& out) const;

  SessionSettings settings_;
  std::unique_ptr<ArrivalProcess> arrivals_;
  std::unique_ptr<LengthModel> lengths_;
  Random arrival_random_, length_random_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> due_;
  std::vector<Waiting> waiting_;   // sessions whose turn is being answered
  std::int64_t opened_ = 0;
  std::int64_t taken_ = 0;
  SimTime last_;                   // of the turn that was taken last
};

}  // namespace shardplan
