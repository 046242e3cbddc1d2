#include "sim/workloads/sessions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.h"

namespace shardplan {

Sessions::Sessions(const SessionSettings& settings, std::unique_ptr<ArrivalProcess> arrivals, std::unique_ptr<LengthModel> lengths)
    : settings_(settings), arrivals_(std::move(arrivals)), lengths_(std::move(lengths)), arrival_random_(settings.seed, "arrivals"),
      length_random_(settings.seed, "lengths") {
  if (settings.sessions < 1 || settings.turns < 1) throw InputError("sessions", "sessions and turns are not positive", "at least 1 of each");
  if (settings.hash_tokens < 1 || settings.system_tokens < 0) throw InputError("sessions", "token counts are out of range", "positive numbers");
  ensure(settings.concurrency > 0 || arrivals_ != nullptr, "sessions need arrivals or a closed loop");
  if (settings_.concurrency == 0) open_next();
  for (std::int64_t i = 0; i < settings_.concurrency; ++i) open(SimTime(0));
}

void Sessions::open(SimTime time) {
  if (opened_ == settings_.sessions) return;
  due_.push({.time = time, .session = opened_++, .said = settings_.system_tokens});
}

// The next session's first turn; one session is always known ahead.
void Sessions::open_next() {
  if (opened_ < settings_.sessions) open(arrivals_->next(arrival_random_));
}

std::optional<SimTime> Sessions::next_arrival() {
  if (due_.empty()) return std::nullopt;
  return std::max(due_.top().time, last_);
}

void Sessions::take(RequestSpec& out) {
  const Turn turn = due_.top();
  due_.pop();
  last_ = std::max(turn.time, last_);
  if (turn.turn == 0 && settings_.concurrency == 0) open_next();
  const RequestLengths lengths = lengths_->next(length_random_);
  out.id = taken_++;
  out.arrival = last_;
  out.session = turn.session;
  out.prompt_tokens = std::min(kMaxRequestTokens, turn.said + lengths.prompt_tokens);
  out.output_tokens = lengths.output_tokens;
  hash_prefix(out);
  if (turn.turn + 1 < settings_.turns) waiting_.push_back({.session = turn.session, .turn = turn.turn + 1});
}

// Of the whole conversation, this answer included: the next turn finds it.
void Sessions::hash_prefix(RequestSpec& out) const {
  out.hash_tokens = settings_.hash_tokens;
  out.hashes.clear();
  const std::int64_t blocks = (out.prompt_tokens + out.output_tokens) / settings_.hash_tokens;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const bool shared = (i + 1) * settings_.hash_tokens <= settings_.system_tokens;
    out.hashes.push_back(mix_bits(shared ? 0 : static_cast<std::uint64_t>(out.session) + 1, static_cast<std::uint64_t>(i)));
  }
}

void Sessions::ended(const RequestSpec& request, SimTime now) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&request](const Waiting& w) { return w.session == request.session; });
  if (found == waiting_.end()) {
    if (settings_.concurrency > 0) open(now);   // that was its last turn
    return;
  }
  // Drawn by (session, turn), not in the order of answers.
  Random random(mix_bits(settings_.seed, static_cast<std::uint64_t>(found->session)), "pause " + std::to_string(found->turn));
  const SimTime pause = sim_time(settings_.pause * random.exponential_ratio());
  due_.push({.time = now + pause, .session = found->session, .turn = found->turn, .said = request.prompt_tokens + request.output_tokens});
  *found = waiting_.back();
  waiting_.pop_back();
}

}  // namespace shardplan
