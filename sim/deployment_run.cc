#include "sim/deployment_run.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr std::int64_t kKinds = 16;

}  // namespace

DeploymentRun::DeploymentRun(const SimulationInput& input)
    : input_(input), recorder_(input.targets, input.records, input.series_points),
      pool_(input.pool, input.decode_pool ? PoolRole::kPrefill : PoolRole::kServe, 0, events_, table_, *this, input.seed),
      tokeniser_free_(static_cast<std::size_t>(input.pool.replicas)), scaling_(static_cast<std::size_t>(input.pool.replicas)),
      told_(input.scales.size(), false) {
  if (input.decode_pool) {
    decode_.emplace(*input.decode_pool, PoolRole::kDecode, static_cast<std::int32_t>(input.pool.replicas), events_, table_, *this, input.seed + 1);
    const auto groups = [](const ReplicaPool& pool) { return pool.size() * static_cast<std::size_t>(pool.settings().instance.groups); };
    std::vector<BytesPerSecond> capacities(groups(pool_), input.transfer.sender);
    decode_links_ = static_cast<std::int32_t>(capacities.size());
    capacities.insert(capacities.end(), groups(*decode_), input.transfer.receiver);
    if (input.transfer.fabric) capacities.push_back(*input.transfer.fabric);
    links_.emplace(events_, capacities);
  }
  if (input.tiers.any()) make_tiers();
  require_sane();
}

void DeploymentRun::make_tiers() {
  const TierSettings& tiers = input_.tiers;
  const auto groups = pool_.size() * static_cast<std::size_t>(pool_.settings().instance.groups);
  if (tiers.remote_blocks > 0) remote_tier_.emplace(tiers.remote_blocks, nullptr);
  CacheTier* remote = remote_tier_ ? &*remote_tier_ : nullptr;
  for (std::size_t r = 0; r < pool_.size(); ++r) {
    if (tiers.host_blocks > 0) host_tiers_.push_back(std::make_unique<CacheTier>(tiers.host_blocks, remote));
    pool_.instance(static_cast<std::int32_t>(r)).use_tiers({.host = host_tiers_.empty() ? nullptr : host_tiers_.back().get(), .remote = remote});
  }
  const BytesPerSecond unused(1);
  std::vector<BytesPerSecond> capacities(groups, tiers.host_blocks > 0 ? tiers.host_link : unused);
  capacities.insert(capacities.end(), groups, tiers.remote_blocks > 0 ? tiers.remote_link : unused);
  tier_links_.emplace(events_, capacities);
}

void DeploymentRun::require_sane() const {
  ensure(input_.source != nullptr, "a simulation needs a workload");
  if (decode_ && decode_->settings().instance.block_tokens != pool_.settings().instance.block_tokens) {
    throw InputError("simulation", "the pools have different block sizes", "the same in both");
  }
  for (const ReplicaFault& fault : input_.faults) {
    const std::int64_t replicas = !fault.of_decode_pool ? input_.pool.replicas : input_.decode_pool ? input_.decode_pool->replicas : 0;
    if (fault.replica < 0 || fault.replica >= replicas) throw InputError("simulation", "a fault names no replica", "a number below replicas");
    if (fault.until < fault.at) throw InputError("simulation", "a replica is back before it is lost", "at <= until");
  }
  require_scales();
}

SimulationResult DeploymentRun::run() {
  schedule_arrival();
  for (std::size_t f = 0; f < input_.faults.size(); ++f) {
    schedule(input_.faults[f].at, EventPriority::kFault, Kind::kDown, static_cast<std::int64_t>(f));
    schedule(input_.faults[f].until, EventPriority::kFault, Kind::kUp, static_cast<std::int64_t>(f));
  }
  for (std::size_t s = 0; s < input_.scales.size(); ++s) schedule(input_.scales[s].at, EventPriority::kFault, Kind::kScale, static_cast<std::int64_t>(s));
  schedule(SimTime(0), EventPriority::kSample, Kind::kSample, 0);
  while (!events_.empty()) {
    events_.run_next();
    if (over()) break;
  }
  ensure(recorder_.present() == 0, "requests are left that nothing serves");
  SimulationResult result = recorder_.result();
  finish(result);
  return result;
}

bool DeploymentRun::over() const { return recorder_.present() == 0 && !events_.pending(arrival_); }

EventId DeploymentRun::schedule(SimTime time, EventPriority priority, Kind kind, std::int64_t value) {
  return events_.schedule({.time = time, .priority = priority, .target = this, .argument = value * kKinds + static_cast<std::int64_t>(kind)});
}

void DeploymentRun::on_event(const Event& event) {
  const std::int64_t value = event.argument / kKinds;
  switch (static_cast<Kind>(event.argument % kKinds)) {
    case Kind::kArrival: return arrive();
    case Kind::kReady: return queue(static_cast<RequestSlot>(value));
    case Kind::kHandOver: return hand_over(static_cast<RequestSlot>(value));
    case Kind::kTransfer: return start_transfer(static_cast<RequestSlot>(value));
    case Kind::kDown: return take_down(input_.faults[static_cast<std::size_t>(value)]);
    case Kind::kUp: return bring_up(input_.faults[static_cast<std::size_t>(value)]);
    case Kind::kSample: return sample();
    case Kind::kScale: return begin_scale(static_cast<std::size_t>(value));
    case Kind::kSwitch: return pool_.instance(input_.scales[static_cast<std::size_t>(value)].replica).pause();
    case Kind::kResume: return resume(static_cast<std::int32_t>(value));
    case Kind::kGiveUp: return give_up_scale(static_cast<std::int32_t>(value));
  }
}

// One event stands for the source's next request; a source that got new ones may have an earlier one.
void DeploymentRun::schedule_arrival() {
  const std::optional<SimTime> next = input_.source->next_arrival();
  if (events_.pending(arrival_) && next && *next >= arrival_time_) return;
  events_.cancel(arrival_);
  if (!next || (input_.stop && *next > *input_.stop)) return;
  arrival_time_ = std::max(*next, events_.now());
  const EventPriority priority = arrival_time_ == events_.now() ? EventPriority::kAnswer : EventPriority::kArrival;
  arrival_ = events_.schedule({.time = arrival_time_, .priority = priority, .target = this, .argument = static_cast<std::int64_t>(Kind::kArrival)});
}

bool DeploymentRun::fits(const RequestSpec& spec) const {
  return pool_.instances().front()->can_fit(spec) && (!decode_ || decode_->instances().front()->can_fit(spec));
}

// Identities stand for whole blocks: joined where they are smaller, dropped where they do not divide.
void DeploymentRun::shape_hashes(RequestSpec& spec) const {
  const std::int64_t block = pool_.settings().instance.block_tokens;
  if (spec.hashes.empty() || spec.hash_tokens % block == 0) {
    if (!pool_.settings().instance.prefix_caching) spec.hashes.clear();
    return;
  }
  if (!pool_.settings().instance.prefix_caching || spec.hash_tokens < 1 || block % spec.hash_tokens != 0) return spec.hashes.clear();
  const auto joined = static_cast<std::size_t>(block / spec.hash_tokens);
  const std::size_t whole = spec.hashes.size() / joined;
  for (std::size_t i = 0; i < whole; ++i) spec.hashes[i] = spec.hashes[(i + 1) * joined - 1];
  spec.hashes.resize(whole);
  spec.hash_tokens = block;
}

void DeploymentRun::arrive() {
  const RequestSlot slot = table_.add();
  Request& request = table_[slot];
  input_.source->take(request.spec);
  const SimTime now = events_.now();
  request.phase = RequestPhase::kOutside;
  recorder_.arrived(now);
  const bool too_large = !fits(request.spec);
  if (too_large || recorder_.present() > input_.max_waiting) {
    recorder_.rejected(too_large, now);
    input_.source->ended(request.spec, now);
    table_.remove(slot);
  } else {
    shape_hashes(request.spec);
    request.target = request.spec.prompt_tokens;
    admit(slot);
  }
  schedule_arrival();
}

// To a replica, through its tokeniser and the server path.
void DeploymentRun::admit(RequestSlot slot) {
  Request& request = table_[slot];
  if (!pool_.route(request)) return homeless_.push_back(slot);
  SimTime& free = tokeniser_free_[static_cast<std::size_t>(request.replica)];
  free = std::max(free, events_.now()) + sim_time(input_.server.per_prompt_token * static_cast<double>(request.spec.prompt_tokens));
  const SimTime ready = free + sim_time(input_.server.fixed);
  if (ready == events_.now()) return queue(slot);
  schedule(ready, EventPriority::kArrival, Kind::kReady, slot);
}

void DeploymentRun::queue(RequestSlot slot) {
  Request& request = table_[slot];
  const std::int32_t replica = request.replica;
  if (request.group == kGroupGone) {
    if (!pool_.settings().router_sees_groups) pool_.leave(request, replica, 0);   // else its count went with the group
    on_drained(replica);
    if (pool_.route(request)) return pool_.instance(request.replica).enqueue(slot);
    return homeless_.push_back(slot);
  }
  if (pool_.up(replica)) return pool_.instance(replica).enqueue(slot);
  pool_.leave(request, replica, request.group);   // lost on its way in
  on_drained(replica);
  if (!input_.requeue_lost && !scaling_[static_cast<std::size_t>(replica)].under_way) return give_up(slot);
  admit(slot);
}

void DeploymentRun::on_step(const StepRecord& step) {
  if (input_.timeline != nullptr) input_.timeline->add(step);
}

void DeploymentRun::on_first_token(RequestSlot slot) {
  Request& request = table_[slot];
  request.first_token = request.last_token = events_.now();
  recorder_.first_token(request);
}

void DeploymentRun::on_ended(RequestSlot slot) {
  const Request& request = table_[slot];
  const bool moved = decode_ && request.source_replica >= 0;
  (moved ? *decode_ : pool_).leave(request, request.replica, request.group);
  recorder_.ended(request, events_.now());
  input_.source->ended(request.spec, events_.now());
  schedule_arrival();
  if (!moved) on_drained(request.replica);
}

void DeploymentRun::on_prefilled(RequestSlot slot) { schedule(events_.now(), EventPriority::kAnswer, Kind::kHandOver, slot); }

// The cache waits at its source until the decode side has room: that is the back-pressure.
void DeploymentRun::hand_over(RequestSlot slot) {
  Request& request = table_[slot];
  pool_.leave(request, request.replica, request.group);
  request.source_replica = request.replica;
  send(slot);
}

void DeploymentRun::send(RequestSlot slot) {
  Request& request = table_[slot];
  if (decode_->route(request)) return decode_->instance(request.replica).expect(slot);
  request.replica = -1;
  stranded_.push_back(slot);
}

void DeploymentRun::on_load(RequestSlot slot, std::int64_t host_blocks, std::int64_t remote_blocks) {
  const Request& request = table_[slot];
  const auto groups = static_cast<std::int32_t>(pool_.settings().instance.groups);
  const std::int32_t group = request.replica * groups + request.group;
  if (loads_left_.size() < static_cast<std::size_t>(table_.slots())) loads_left_.resize(static_cast<std::size_t>(table_.slots()), 0);
  host_loaded_ += host_blocks;
  remote_loaded_ += remote_blocks;
  const auto fetch = [&](std::int64_t blocks, std::int32_t link) {
    if (blocks == 0) return;
    ++loads_left_[static_cast<std::size_t>(slot)];
    const std::vector<std::int32_t> route = {link};
    tier_links_->start(Bytes(std::llround(input_.tiers.bytes_per_block_ratio * static_cast<double>(blocks))), route, *this, 2 * std::int64_t{slot} + 1);
  };
  fetch(host_blocks, group);
  fetch(remote_blocks, static_cast<std::int32_t>(pool_.size()) * groups + group);
}

void DeploymentRun::on_room(RequestSlot slot) {
  const SimTime start = events_.now() + sim_time(input_.transfer.start_up);
  if (moves_.size() < static_cast<std::size_t>(table_.slots())) moves_.resize(static_cast<std::size_t>(table_.slots()));
  moves_[static_cast<std::size_t>(slot)] = schedule(start, start == events_.now() ? EventPriority::kAnswer : EventPriority::kTransfer, Kind::kTransfer, slot);
}

void DeploymentRun::start_transfer(RequestSlot slot) {
  const Request& request = table_[slot];
  const auto link = [](const ReplicaPool& pool, std::int32_t replica, std::int32_t group) {
    return replica * static_cast<std::int32_t>(pool.settings().instance.groups) + group;
  };
  std::vector<std::int32_t> route = {link(pool_, request.source_replica, request.source_group),
                                     decode_links_ + link(*decode_, request.replica, request.group)};
  if (input_.transfer.fabric) route.push_back(decode_links_ + link(*decode_, static_cast<std::int32_t>(decode_->size()), 0));
  const double bytes = input_.transfer.bytes_per_token_ratio * static_cast<double>(request.target);
  links_->start(Bytes(std::llround(bytes)), route, *this, 2 * std::int64_t{slot});
}

// The token that the prompt gave travels with the cache.
void DeploymentRun::on_transferred(std::int64_t tag) {
  const auto slot = static_cast<RequestSlot>(tag / 2);
  if (tag % 2 == 1) {
    if (--loads_left_[static_cast<std::size_t>(slot)] == 0) pool_.instance(table_[slot].replica).loaded(slot);
    return;
  }
  recorder_.transferred(events_.now() - table_[slot].prefilled);
  pool_.instance(table_[slot].source_replica).release_source(slot);
  if (table_[slot].outputs == 1) {
    on_first_token(slot);
  } else {   // computed anew after a fault
    recorder_.gaps(events_.now() - table_[slot].last_token, SimTime(0), 1, 1);
    table_[slot].last_token = events_.now();
  }
  decode_->instance(table_[slot].replica).receive(slot);
}

void DeploymentRun::give_up(RequestSlot slot) {
  recorder_.failed(events_.now());
  input_.source->ended(table_[slot].spec, events_.now());
  table_.remove(slot);
  schedule_arrival();
}

// Part of what the senders' links could have carried since the last sample.
double DeploymentRun::link_use() {
  if (!links_) return 0;
  links_->settle();
  double moved = 0;
  for (std::int32_t link = 0; link < decode_links_; ++link) moved += links_->moved_bytes_ratio(link);
  const double seconds = to_seconds(events_.now() - sampled_).value();
  const double possible = input_.transfer.sender.value() * static_cast<double>(decode_links_) * seconds;
  const double use = possible > 0 ? (moved - moved_bytes_) / possible : 0;
  moved_bytes_ = moved;
  sampled_ = events_.now();
  return use;
}

void DeploymentRun::sample() {
  SeriesPoint point{.time = events_.now(), .completed = recorder_.completed(), .output_tokens = recorder_.output_tokens(), .link_use_ratio = link_use()};
  double used = 0;
  double blocks = 0;
  const auto add = [&](const ReplicaPool& pool) {
    for (const auto& instance : pool.instances()) {
      const InstanceLoad load = instance->load();
      point.running += load.running;
      point.waiting += load.waiting;
      used += static_cast<double>(load.used_blocks);
      blocks += static_cast<double>(instance->settings().blocks * instance->settings().groups);
    }
  };
  add(pool_);
  if (decode_) add(*decode_);
  point.kv_use_ratio = used / blocks;
  recorder_.series().add(point);
  if (input_.timeline != nullptr) input_.timeline->add(point);
  if (events_.empty()) return;   // nothing will ever happen
  schedule(events_.now() + recorder_.series().interval(), EventPriority::kSample, Kind::kSample, 0);
}

void DeploymentRun::finish(SimulationResult& result) const {
  BusyTimes busy;
  double instances = 0;
  double lanes = 0;
  const auto add = [&](const ReplicaPool& pool) {
    for (const auto& instance : pool.instances()) {
      instance->check();
      result.requests.preempted += instance->counters().preemptions;
      result.recomputed_tokens += instance->counters().recomputed_tokens;
      result.steps += instance->steps();
      busy.decode += instance->busy().decode;
      busy.mixed += instance->busy().mixed;
      busy.prefill += instance->busy().prefill;
      lanes += static_cast<double>(instance->settings().lanes);
      for (std::int64_t g = 0; g < instance->settings().groups; ++g) result.evicted_blocks += instance->pool(g).evictions();
      ++instances;
    }
  };
  add(pool_);
  if (decode_) add(*decode_);
  result.events = events_.happened();
  result.scales = scale_records();
  result.host_loaded_blocks = host_loaded_;
  result.remote_loaded_blocks = remote_loaded_;
  if (links_) {
    for (std::int32_t link = 0; link < decode_links_; ++link) result.transferred_bytes_ratio += links_->moved_bytes_ratio(link);
  }
  if (result.simulated.value() <= 0) return;
  const auto part = [&result](SimTime time, double of) { return to_seconds(time).value() / of / result.simulated.value(); };
  result.busy_ratio = part(busy.sum(), instances);
  result.shares = {.decode_ratio = part(busy.decode, lanes), .mixed_ratio = part(busy.mixed, lanes), .prefill_ratio = part(busy.prefill, lanes),
                   .idle_ratio = std::max(0.0, 1 - part(busy.sum(), lanes))};
}

}  // namespace shardplan
