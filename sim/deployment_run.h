// One run of a deployment: requests from the source through routers, instances and links to the records.
#pragma once

#include <optional>
#include <vector>

#include "sim/fair_links.h"
#include "sim/recorder.h"
#include "sim/replica_pool.h"

namespace shardplan {

class DeploymentRun : public EventTarget, public InstanceObserver, public TransferOwner {
 public:
  explicit DeploymentRun(const SimulationInput& input);
  // Until every request has left.
  [[nodiscard]] SimulationResult run();

  void on_event(const Event& event) override;
  void on_step(const StepRecord& step) override;
  void on_gaps(SimTime first, SimTime increment, std::int64_t count, std::int64_t weight) override { recorder_.gaps(first, increment, count, weight); }
  void on_first_token(RequestSlot slot) override;
  void on_ended(RequestSlot slot) override;
  void on_prefilled(RequestSlot slot) override;
  void on_load(RequestSlot slot, std::int64_t host_blocks, std::int64_t remote_blocks) override;
  void on_room(RequestSlot slot) override;
  void on_quiet(std::int32_t instance) override;
  void on_transferred(std::int64_t tag) override;   // 2*slot, one more where it is a prefix from a lower tier

 private:
  enum class Kind : std::uint8_t { kArrival, kReady, kHandOver, kTransfer, kDown, kUp, kSample, kScale, kSwitch, kResume, kGiveUp };
  EventId schedule(SimTime time, EventPriority priority, Kind kind, std::int64_t value);
  void schedule_arrival();
  void arrive();
  void admit(RequestSlot slot);
  void queue(RequestSlot slot);
  void hand_over(RequestSlot slot);
  void start_transfer(RequestSlot slot);
  void send(RequestSlot slot);
  // Faults: deployment_faults.cc.
  void take_down(const ReplicaFault& fault);
  void bring_up(const ReplicaFault& fault);
  void lose_prompt_side(RequestSlot slot, std::int32_t replica);
  void lose_answer_side(RequestSlot slot, std::int32_t replica);
  void stop_moving(RequestSlot slot);
  // Elastic scaling: deployment_scale.cc.
  void begin_scale(std::size_t event);
  void on_drained(std::int32_t replica);
  void give_up_scale(std::int32_t replica);
  void resume(std::int32_t replica);
  void end_scale(std::int32_t replica);
  void require_scales() const;
  [[nodiscard]] ScaleTimes scale_times(std::size_t event) const;
  [[nodiscard]] std::vector<ScaleRecord> scale_records() const;
  void readmit();
  void start_over(RequestSlot slot);
  void give_up(RequestSlot slot);
  void sample();
  [[nodiscard]] double link_use();
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool fits(const RequestSpec& spec) const;
  void shape_hashes(RequestSpec& spec) const;
  void require_sane() const;
  void make_tiers();
  void finish(SimulationResult& result) const;

  const SimulationInput& input_;
  EventQueue events_;
  RequestTable table_;
  Recorder recorder_;
  ReplicaPool pool_;
  std::optional<ReplicaPool> decode_;
  std::optional<FairLinks> links_;
  std::optional<FairLinks> tier_links_;     // of each attention group: to its host, and to the store
  std::optional<CacheTier> remote_tier_;
  std::vector<std::unique_ptr<CacheTier>> host_tiers_;   // of each instance
  std::vector<std::int32_t> loads_left_;    // parts of a prefix on their way, by slot
  std::int64_t host_loaded_ = 0;
  std::int64_t remote_loaded_ = 0;
  std::int32_t decode_links_ = 0;           // where the receivers' links begin
  double moved_bytes_ = 0;                  // by all senders, at the last sample
  SimTime sampled_;
  std::vector<SimTime> tokeniser_free_;     // of each replica
  std::vector<RequestSlot> homeless_;       // every replica is down
  std::vector<RequestSlot> stranded_;       // cache computed, every decode replica is down: replica -1
  std::vector<EventId> moves_;              // of caches that wait for the start-up of their transfer, by slot
  static constexpr std::int32_t kGroupGone = -1;   // of a request on its way to a group that went meanwhile
  // Of each replica: the scale event under way, and those that wait for its end.
  struct Scaling {
    bool under_way = false;
    bool drains = false;             // closed to newcomers until its requests have ended
    std::size_t event = 0;
    EventId deadline;
    ScaleRecord record;
    std::vector<std::size_t> next;
  };
  std::vector<Scaling> scaling_;
  std::vector<ScaleRecord> scaled_;
  std::vector<bool> told_;                  // of each scale event
  EventId arrival_;
  SimTime arrival_time_;
};

}  // namespace shardplan
