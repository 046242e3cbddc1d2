// One model instance in time: its step loop, pipeline and attention groups.
//
// A lane is a batch in flight. At every boundary the scheduler plans the next step for each group; groups share the
// step (lock-step: it lasts as long as the busiest group's). With several stages a batch passes one after another,
// first come first served, and as many lanes as stages keep them busy. Asynchronous scheduling plans a step when the one
// before it starts: what arrives or comes free during step n takes part in step n+2.
// Runs of identical decode steps are taken in one event; whatever could change the next plan cuts the run at the end of
// the step under way. Times are lines in the sum of contexts, so that a run ends where its steps would (tested).
// Wrong: which requests share a lane is settled when their prompt ends; the engines may deal them out anew.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cache_tier.h"
#include "sim/event_queue.h"
#include "sim/group.h"
#include "sim/pool_role.h"
#include "sim/routing_draws.h"
#include "sim/schedulers/scheduler.h"
#include "sim/step_timer.h"

namespace shardplan {

// Prefix cache below the device's: which tiers an instance looks in, top first.
struct LowerTiers {
  CacheTier* host = nullptr;           // of this instance
  CacheTier* remote = nullptr;         // of all
};

struct InstanceSettings {
  PoolRole role = PoolRole::kServe;
  std::string scheduler = "vllm";
  SchedulerLimits limits;
  std::int64_t groups = 1;             // attention groups (DPA)
  std::int64_t lanes = 1;              // batches in flight: pipeline stages, one more if the engine does
  std::int64_t blocks = 1;             // KV blocks of one group
  std::int64_t block_tokens = 16;
  std::int64_t max_request_tokens = 0; // prompt and output; longer ones are rejected; 0: what the cache holds
  bool async_scheduling = true;
  bool skip_ahead = true;
  bool prefix_caching = true;
  // Part of a step with prompts that waits for the busiest group; the rest sees the load as if evenly spread.
  double busiest_ratio = 1;
  // Expert routing is drawn for each step, and the step waits for the rank that is busiest in it; it must outlive the
  // instance. Null, or batches in flight in a pipeline: as the price has it.
  const RoutingDraws* routing = nullptr;
};

// A step, or a run of them, as it ends.
struct StepRecord {
  std::int32_t instance = 0;
  std::int32_t lane = 0;
  SimTime start;
  SimTime end;
  std::int64_t steps = 1;
  std::int64_t decodes = 0;            // sequences, all groups
  std::int64_t prompt_tokens = 0;
};

// Told what happens; may call the instance back only where said.
class InstanceObserver {
 public:
  virtual ~InstanceObserver() = default;
  virtual void on_step(const StepRecord& step) = 0;
  // Times between tokens of one request: `count` of them from `first`, each `increment` longer, for `weight` requests.
  virtual void on_gaps(SimTime first, SimTime increment, std::int64_t count, std::int64_t weight) = 0;
  virtual void on_first_token(RequestSlot slot) = 0;
  virtual void on_ended(RequestSlot slot) = 0;        // all tokens are out; the slot is removed soon after
  virtual void on_prefilled(RequestSlot slot) = 0;    // prefill pools: the cache waits here to be fetched
  // Blocks of a prefix come from lower tiers; `loaded` when they are here.
  virtual void on_load(RequestSlot slot, std::int64_t host_blocks, std::int64_t remote_blocks) = 0;
  virtual void on_room(RequestSlot slot) = 0;         // decode pools: blocks are reserved, the cache may come
  virtual void on_quiet(std::int32_t /*instance*/) {} // paused, and the step under way has ended
};

// Where the time of an instance's batches went.
struct BusyTimes {
  SimTime decode;                      // steps of decodes only
  SimTime mixed;
  SimTime prefill;                     // steps of prompts only
  [[nodiscard]] SimTime sum() const { return decode + mixed + prefill; }
};

struct InstanceLoad {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t used_blocks = 0;
};

class Instance : public EventTarget {
 public:
  // All references must outlive the instance; `id` numbers it in records. InputError on settings out of range.
  Instance(std::int32_t id, const InstanceSettings& settings, StepTimer& timer, EventQueue& events, RequestTable& table, InstanceObserver& observer);

  [[nodiscard]] const InstanceSettings& settings() const { return settings_; }
  // Whether a request of these lengths could ever run here.
  [[nodiscard]] bool can_fit(const RequestSpec& spec) const;
  // Whether a prompt, or a prompt and the answer so far, can be computed: whole prompts must fit the budget.
  [[nodiscard]] bool can_compute(std::int64_t tokens) const { return settings_.limits.chunked_prefill || tokens <= settings_.limits.max_batched_tokens; }
  [[nodiscard]] const BlockPool& pool(std::int64_t group) const { return groups_[static_cast<std::size_t>(group)].pool; }

  // The request joins the queue of its group now.
  void enqueue(RequestSlot slot);
  // Decode pools: a request whose cache is elsewhere; on_room when there is place, then `receive` when it has come.
  void expect(RequestSlot slot);
  void receive(RequestSlot slot);
  // Its cache will not come: its place in the queue, or what was kept for it, is free again.
  void forget(RequestSlot slot);
  // Looks for prefixes in these tiers too, from now on.
  void use_tiers(const LowerTiers& tiers);
  // What on_load asked for has come.
  void loaded(RequestSlot slot);
  // Prefill pools: the cache of a handed-over request has moved.
  void release_source(RequestSlot slot);
  // Elastic: no step starts until `resume`; on_quiet when none is under way, at once where none is.
  void pause();
  // While quiet: another number of attention groups, at other prices. Groups that stay keep requests and cache; what is in the
  // others is lost, and the caller deals with their requests.
  void relayout(StepTimer& timer, std::int64_t groups, double busiest_ratio);
  void resume();
  // A fault: steps under way are lost, the cache too. The caller deals with every request of this instance.
  void lose();

  // Takes the blocks of a run's steps until now, as if they had been made one by one: the cache can be looked at.
  void settle();
  [[nodiscard]] InstanceLoad load();
  [[nodiscard]] const PlanCounters& counters() const { return counters_; }
  [[nodiscard]] const BusyTimes& busy() const { return busy_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] bool idle() const;
  void check() const;   // InternalError when blocks or seats are miscounted

  void on_event(const Event& event) override;

 private:
  struct Lane {
    std::vector<Batch> batches;        // by group
    bool busy = false;
    SimTime start;                     // of the step or run under way
    SimTime last_start{-1};            // of the step that has just ended, while the next is planned; else -1
    bool captured = false;             // the last step launched was one of decodes alone
    SimTime behind;                    // such a step just before the one that is launched; 0: none
    std::int64_t steps = 1;
    std::int64_t settled = 1;          // of these, whose blocks are taken
    bool cut = false;                  // the run ends with the step under way
    TimeLine line;                     // decode steps: time of step i is line.at(beyond_low + i*growth)
    std::int64_t beyond_low = 0;
    std::int64_t growth = 0;
    RoutedPart routed;                 // of a step
    std::int64_t next_draw = 0;        // of routing: a step takes one
    std::vector<TimeLine> stage_lines; // with several lanes
    EventId event;
  };

  void wake();
  void start_idle_lanes();
  void interrupt(Lane& lane);
  void settle(Lane& lane, std::int64_t steps);
  bool try_start(std::size_t lane);
  struct Planned { bool work = false; bool steady = true; bool retry = false; };
  [[nodiscard]] Planned plan(Lane& lane, SimTime visible_until);
  void admit_distant(Group& group, Batch& batch);
  [[nodiscard]] bool load_prefixes(Group& group, SimTime visible_until);
  [[nodiscard]] bool waits_for_balance(const Lane& lane, SimTime visible_until);
  void launch(std::size_t lane, bool steady);
  void launch_decodes(Lane& lane, bool steady);
  void launch_mixed(Lane& lane);
  void set_routed(Lane& lane, const RoutedPart& routed) const;
  [[nodiscard]] StepLoad busiest_load(const Lane& lane) const;
  [[nodiscard]] StepLoad spread_load(const Lane& lane) const;
  [[nodiscard]] std::int64_t run_length(Lane& lane, std::int64_t context, std::int64_t high);
  [[nodiscard]] SimTime time_of_steps(const Lane& lane, std::int64_t steps) const;
  [[nodiscard]] std::int64_t step_now(const Lane& lane) const;
  [[nodiscard]] SimTime pass_stages(SimTime start, const std::vector<SimTime>& stages, SimTime latency);
  [[nodiscard]] bool alone(const Lane& lane) const;

  void finish(std::size_t lane);
  void finish_decodes(Lane& lane, Group& group, Batch& batch);
  void finish_chunk(Group& group, Batch& batch, const Chunk& chunk);
  void record(std::size_t lane_index, const Lane& lane);   // counts its time too
  void publish(Group& group, Request& request, std::int64_t tokens);
  void end(Group& group, RequestSlot slot);
  void release(Group& group);
  void drain(Lane& lane);
  void lose_members(Batch& batch);
  [[nodiscard]] bool quiet() const;

  std::int32_t id_;
  InstanceSettings settings_;
  StepTimer* timer_;
  EventQueue& events_;
  RequestTable& table_;
  InstanceObserver& observer_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Group> groups_;
  std::vector<Lane> lanes_;
  std::vector<SimTime> stage_free_;
  MixedTime mixed_;
  MixedTime spread_;
  PlanCounters counters_;
  LowerTiers tiers_;
  EventId wake_;
  std::int64_t balance_waited_ = 0;
  bool paused_ = false;
  std::int64_t steps_ = 0;
  BusyTimes busy_;
};

}  // namespace shardplan
