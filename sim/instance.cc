#include "sim/instance.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr int kLookAhead = 16;         // requests of a queue whose prefixes are looked for below
constexpr std::int64_t kWakeUp = -1;   // an event's argument that is no lane

void require(bool condition, const char* what, const char* hint) {
  if (!condition) throw InputError("simulated instance", what, hint);
}

void require_sane(const InstanceSettings& settings) {
  require(settings.groups >= 1 && settings.lanes >= 1, "groups or lanes are not positive", "at least 1 of each");
  require(settings.limits.max_batched_tokens >= 1, "the token budget is not positive", "at least 1");
  require(settings.limits.max_sequences >= 1, "there are no seats", "at least 1");
  require(settings.busiest_ratio >= 0 && settings.busiest_ratio <= 1, "the busiest group's part is out of range", "0 to 1");
}

}  // namespace

Instance::Instance(std::int32_t id, const InstanceSettings& settings, StepTimer& timer, EventQueue& events, RequestTable& table, InstanceObserver& observer)
    : id_(id), settings_(settings), timer_(&timer), events_(events), table_(table), observer_(observer),
      scheduler_(make_scheduler(settings.scheduler)), stage_free_(timer.stages()) {
  require_sane(settings_);
  for (std::int64_t g = 0; g < settings_.groups; ++g) groups_.emplace_back(settings_.blocks, settings_.block_tokens);
  lanes_.resize(static_cast<std::size_t>(settings_.lanes));
  for (Lane& lane : lanes_) {
    lane.stage_lines.resize(timer.stages());
    lane.next_draw = RoutingDraws::first_draw(id);
    for (std::int64_t g = 0; g < settings_.groups; ++g) lane.batches.emplace_back(settings_.block_tokens, !scheduler_->reserves_output());
  }
}

bool Instance::can_fit(const RequestSpec& spec) const {
  if (settings_.max_request_tokens > 0 && spec.prompt_tokens + spec.output_tokens > settings_.max_request_tokens) return false;
  const std::int64_t context = spec.prompt_tokens + spec.output_tokens - 1;
  if (groups_.front().pool.blocks_of(context) > settings_.blocks) return false;
  // A preempted request computes its answer so far as part of its prompt.
  return can_compute(scheduler_->reserves_output() ? spec.prompt_tokens : context);
}

// Behind a head that is refused for want of blocks or seats a newcomer changes nothing.
void Instance::enqueue(RequestSlot slot) {
  Request& request = table_[slot];
  Group& group = groups_[static_cast<std::size_t>(request.group)];
  const bool behind = !group.waiting.empty();
  request.phase = RequestPhase::kWaiting;
  request.ready = events_.now();
  table_.push_back(group.waiting, slot);
  if (!behind) wake();
}

void Instance::expect(RequestSlot slot) {
  Group& group = groups_[static_cast<std::size_t>(table_[slot].group)];
  const bool behind = !group.distant.empty();
  table_.push_back(group.distant, slot);
  if (!behind) wake();
}

void Instance::receive(RequestSlot slot) {
  Request& request = table_[slot];
  request.phase = RequestPhase::kArriving;
  table_.push_back(groups_[static_cast<std::size_t>(request.group)].arrived, slot);
  wake();
}

void Instance::forget(RequestSlot slot) {
  Request& request = table_[slot];
  Group& group = groups_[static_cast<std::size_t>(request.group)];
  if (request.holding.blocks > 0) {
    group.pool.give(request.holding.blocks);
    request.holding = {};
    --group.seated;
  } else {
    table_.erase(group.distant, slot);
  }
  wake();
}

void Instance::release_source(RequestSlot slot) {
  Request& request = table_[slot];
  Group& group = groups_[static_cast<std::size_t>(request.source_group)];
  group.pool.give(request.source_holding.blocks);
  group.pool.unpin(request.hashes_within(request.source_holding.pinned * request.spec.hash_tokens));
  request.source_holding = {};
  --group.seated;
  wake();
}

void Instance::lose_members(Batch& batch) {
  while (!batch.decodes.members().empty()) {
    const RequestSlot slot = batch.decodes.members().head;
    if (std::erase(batch.newcomers, slot) == 0) table_[slot].last_token = batch.last_decode;
    batch.decodes.leave(table_, slot);
    table_[slot].phase = RequestPhase::kLost;
  }
  batch.decodes.clear();
  batch.chunks.clear();
  batch.newcomers.clear();
}

// Members keep the tokens of the steps that ended.
void Instance::drain(Lane& lane) {
  const std::int64_t ended = lane.busy && lane.steps > 1 ? step_now(lane) - 1 : 0;
  steps_ += ended;
  busy_.decode += time_of_steps(lane, ended);   // runs are of decodes only
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Batch& batch = lane.batches[g];
    lane.steps = ended;
    if (ended > 0 && batch.decoding) finish_decodes(lane, groups_[g], batch);
    lose_members(batch);
  }
  lane.next_draw += ended;
  lane.busy = false;
  lane.last_start = SimTime(-1);
}

void Instance::lose() {
  settle();
  for (Lane& lane : lanes_) {
    events_.cancel(lane.event);
    drain(lane);
  }
  for (Group& group : groups_) {
    for (const RequestSlot slot : group.releasing) table_.remove(slot);
    group.releasing.clear();
    group.waiting = group.prefilling = group.distant = group.arrived = {};
    group.seated = group.loading = group.reserved = 0;
    group.pool.reset();
  }
  balance_waited_ = 0;
  std::fill(stage_free_.begin(), stage_free_.end(), events_.now());
}

bool Instance::quiet() const {
  return std::none_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.busy; });
}

void Instance::pause() {
  ensure(!paused_, "an instance is paused once");
  paused_ = true;
  for (Lane& lane : lanes_) interrupt(lane);
  if (quiet()) observer_.on_quiet(id_);
}

void Instance::relayout(StepTimer& timer, std::int64_t groups, double busiest_ratio) {
  ensure(paused_ && quiet() && lanes_.size() == 1 && timer.stages() == 1 && groups >= 1, "only a quiet instance of one stage changes its groups");
  for (Group& group : groups_) release(group);
  Lane& lane = lanes_.front();
  for (auto g = static_cast<std::size_t>(groups); g < groups_.size(); ++g) lose_members(lane.batches[g]);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(groups_.size(), static_cast<std::size_t>(groups)));
  groups_.erase(groups_.begin() + kept, groups_.end());
  lane.batches.erase(lane.batches.begin() + kept, lane.batches.end());
  while (std::ssize(groups_) < groups) {
    groups_.emplace_back(settings_.blocks, settings_.block_tokens);
    lane.batches.emplace_back(settings_.block_tokens, !scheduler_->reserves_output());
  }
  timer_ = &timer;
  settings_.groups = groups;
  settings_.busiest_ratio = busiest_ratio;
  balance_waited_ = 0;
}

void Instance::resume() {
  paused_ = false;
  for (Lane& lane : lanes_) lane.last_start = SimTime(-1);
  std::fill(stage_free_.begin(), stage_free_.end(), events_.now());
  wake();
}

void Instance::settle() {
  for (Lane& lane : lanes_) {
    if (lane.busy && lane.steps > 1) settle(lane, step_now(lane));
  }
}

InstanceLoad Instance::load() {
  settle();
  InstanceLoad load;
  for (const Group& group : groups_) {
    load.running += group.seated;
    load.waiting += group.waiting.size + group.distant.size;
    load.used_blocks += group.pool.used();
  }
  return load;
}

bool Instance::idle() const {
  for (const Lane& lane : lanes_) {
    if (lane.busy) return false;
  }
  for (const Group& group : groups_) {
    if (group.seated > 0 || group.loading > 0 || !group.waiting.empty() || !group.distant.empty() || !group.arrived.empty()) return false;
  }
  return true;
}

void Instance::check() const {
  for (const Group& group : groups_) {
    group.pool.check();
    ensure(group.seated >= 0 && group.seated <= settings_.limits.max_sequences, "seats are miscounted");
    if (idle()) ensure(group.pool.used() == 0, "an idle instance holds KV blocks");
  }
}

bool Instance::alone(const Lane& lane) const {
  return std::all_of(lanes_.begin(), lanes_.end(), [&lane](const Lane& other) { return &other == &lane || !other.busy; });
}

// Something came: runs end with the step under way, idle lanes look at the queue once all that comes now has come.
void Instance::wake() {
  for (Lane& lane : lanes_) interrupt(lane);
  if (events_.pending(wake_)) return;
  if (std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.busy; })) return;
  wake_ = events_.schedule({.time = events_.now(), .priority = EventPriority::kWake, .target = this, .argument = kWakeUp});
}

void Instance::start_idle_lanes() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (!lanes_[lane].busy) try_start(lane);
  }
}

bool Instance::try_start(std::size_t index) {
  if (paused_) return false;
  Lane& lane = lanes_[index];
  const bool follows = settings_.async_scheduling && lane.last_start > SimTime(-1);
  Planned planned = plan(lane, follows ? lane.last_start : events_.now());
  if (!planned.work && planned.retry) planned = plan(lane, events_.now());
  lane.behind = follows && lane.captured ? (events_.now() - lane.last_start) / static_cast<std::int64_t>(lanes_.size()) : SimTime(0);
  lane.last_start = SimTime(-1);
  if (!planned.work) return false;
  launch(index, planned.steady);
  return true;
}

// The next step of every group. `retry`: there is something that a plan without a step before it would see.
Instance::Planned Instance::plan(Lane& lane, SimTime visible_until) {
  Planned planned;
  const bool holds = waits_for_balance(lane, visible_until);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    Batch& batch = lane.batches[g];
    if (!settings_.async_scheduling) release(group);
    const bool releasing = !group.releasing.empty();
    admit_distant(group, batch);
    const bool waits_for_room = load_prefixes(group, visible_until);
    StepBuilder step({.table = table_, .group = group, .batch = batch, .limits = settings_.limits, .counters = counters_,
                      .now = events_.now(), .visible_until = visible_until,
                      .reserves_output = scheduler_->reserves_output(), .holds_prompts = holds || waits_for_room});
    scheduler_->plan(step);
    release(group);
    planned.work = planned.work || batch.decoding || !batch.chunks.empty();
    const bool may_fetch = !group.waiting.empty() && (tiers_.host != nullptr || tiers_.remote != nullptr);   // as tiers change
    planned.steady = planned.steady && step.steady() && !releasing && !may_fetch;
    planned.retry = planned.retry || releasing || !step.steady();
  }
  return planned;
}

// Prompts of some groups wait beside running decodes until all groups have one, so that no group idles through theirs.
bool Instance::waits_for_balance(const Lane& lane, SimTime visible_until) {
  if (settings_.limits.balance_steps == 0 || groups_.size() == 1) return false;
  const auto has_prompt = [&](const Group& group) {
    return !group.prefilling.empty() || (!group.waiting.empty() && table_[group.waiting.head].ready <= visible_until);
  };
  const auto with = std::count_if(groups_.begin(), groups_.end(), has_prompt);
  const bool decodes = std::any_of(lane.batches.begin(), lane.batches.end(), [](const Batch& batch) { return batch.decodes.size() > 0; });
  if (with == 0 || with == static_cast<std::int64_t>(groups_.size()) || !decodes) balance_waited_ = 0;
  else if (balance_waited_ < settings_.limits.balance_steps) return ++balance_waited_ > 0;
  return false;   // balanced, or waited enough for these prompts
}

// Requests whose cache comes from another pool: a place for those that wait for one, a seat in the batch for those here.
void Instance::admit_distant(Group& group, Batch& batch) {
  while (!group.arrived.empty()) {
    const RequestSlot slot = group.arrived.head;
    table_.erase(group.arrived, slot);
    table_[slot].admission = table_.next_admission();
    batch.decodes.join(table_, slot);
    batch.newcomers.push_back(slot);
  }
  while (!group.distant.empty() && group.waiting.empty() && group.seated < settings_.limits.max_sequences) {
    const RequestSlot slot = group.distant.head;
    Request& request = table_[slot];
    const std::int64_t blocks = group.pool.blocks_of(scheduler_->reserves_output() ? request.largest_context() : request.target);
    if (!group.pool.take(blocks)) return;
    request.holding = {.blocks = blocks};
    ++group.seated;
    table_.erase(group.distant, slot);
    observer_.on_room(slot);
  }
}

void Instance::use_tiers(const LowerTiers& tiers) {
  tiers_ = tiers;
  CacheTier* first = tiers.host != nullptr ? tiers.host : tiers.remote;
  for (Group& group : groups_) group.pool.set_lower(first);
}

// The first of the queue leave it while the part of their prefix that lower tiers hold is fetched into blocks of their
// own. Each request asks once; room for it is kept until it is admitted. True when the head has to wait for such room.
bool Instance::load_prefixes(Group& group, SimTime visible_until) {
  if (tiers_.host == nullptr && tiers_.remote == nullptr) return false;
  // False when there is no room for it now.
  const auto look = [&](RequestSlot slot) {
    Request& request = table_[slot];
    const auto hashes = request.hashes_within(request.target - 1);
    const std::int64_t here = group.pool.match(hashes);
    const std::int64_t each = hashes.empty() ? 0 : request.spec.hash_tokens / settings_.block_tokens;
    std::int64_t host = 0;
    std::int64_t remote = 0;
    for (auto i = static_cast<std::size_t>(here); i < hashes.size(); ++i) {
      if (tiers_.host != nullptr && tiers_.host->contains(hashes[i])) host += each;
      else if (tiers_.remote != nullptr && tiers_.remote->contains(hashes[i])) remote += each;
      else break;
    }
    if (host + remote > 0) {
      const std::int64_t needs = group.pool.blocks_of(request.target);
      if (group.pool.available() - group.reserved < needs || !group.pool.take(host + remote)) return false;
      group.reserved += request.reserved = needs;
      request.holding = {.pinned = here, .blocks = host + remote};   // where the fetched part begins
      request.phase = RequestPhase::kLoading;
      table_.erase(group.waiting, slot);
      ++group.loading;
      observer_.on_load(slot, host, remote);
    }
    return request.was_loaded = true;
  };
  RequestSlot slot = group.waiting.head;
  for (int seen = 0; slot != kNoRequest && seen < kLookAhead; ++seen) {
    const RequestSlot next = table_[slot].next;
    if (table_[slot].ready > visible_until) return false;
    if (!table_[slot].was_loaded && !look(slot)) return seen == 0;
    slot = next;
  }
  return false;
}

void Instance::loaded(RequestSlot slot) {
  Request& request = table_[slot];
  Group& group = groups_[static_cast<std::size_t>(request.group)];
  const std::int64_t each = request.spec.hash_tokens / settings_.block_tokens;
  const auto first = static_cast<std::size_t>(request.holding.pinned);
  const auto fetched = std::span(request.spec.hashes).subspan(first, static_cast<std::size_t>(request.holding.blocks / each));
  for (const std::uint64_t hash : fetched) {
    group.pool.publish(hash, each);
    (tiers_.host != nullptr ? tiers_.host : tiers_.remote)->put(hash, each);
  }
  group.pool.unpin(fetched);
  request.holding = {};
  request.phase = RequestPhase::kWaiting;
  --group.loading;
  table_.push_front(group.waiting, slot);
  wake();
}

void Instance::release(Group& group) {
  for (const RequestSlot slot : group.releasing) {
    const Request& request = table_[slot];
    group.pool.give(request.holding.blocks);
    group.pool.unpin(request.hashes_within(request.holding.pinned * request.spec.hash_tokens));
    --group.seated;
    table_.remove(slot);
  }
  group.releasing.clear();
}

void Instance::on_event(const Event& event) {
  if (event.argument == kWakeUp) return start_idle_lanes();
  const auto index = static_cast<std::size_t>(event.argument);
  finish(index);
  if (paused_ && quiet()) return observer_.on_quiet(id_);
  try_start(index);
  if (lanes_.size() > 1) start_idle_lanes();   // what ended here may have made room
}

}  // namespace shardplan
