#include "sim/metrics/timeline.h"

#include <fmt/format.h>

#include <ostream>

namespace shardplan {
namespace {

double microseconds(SimTime time) { return static_cast<double>(time.value()) / 1e6; }

}  // namespace

Timeline::Timeline(std::ostream& out, std::int64_t most) : out_(out), left_(most) { out_ << "["; }

Timeline::~Timeline() { out_ << "\n]\n"; }

bool Timeline::room() {
  if (left_ < 0) return false;
  out_ << (first_ ? "\n" : ",\n");
  first_ = false;
  if (left_-- > 0) return true;
  out_ << R"({"name":"timeline is full","ph":"I","s":"g","ts":0,"pid":0,"tid":0})";
  return false;
}

void Timeline::add(const StepRecord& step) {
  if (!room()) return;
  const char* kind = step.prompt_tokens == 0 ? "decode" : step.decodes == 0 ? "prefill" : "mixed";
  out_ << fmt::format(R"({{"name":"{}","ph":"X","ts":{:.6f},"dur":{:.6f},"pid":{},"tid":{},"args":{{"steps":{},"decodes":{},"prompt_tokens":{}}}}})", kind,
                      microseconds(step.start), microseconds(step.end - step.start), step.instance, step.lane, step.steps, step.decodes, step.prompt_tokens);
}

void Timeline::add(const SeriesPoint& point) {
  if (!room()) return;
  out_ << fmt::format(R"({{"name":"requests","ph":"C","ts":{:.6f},"pid":0,"args":{{"running":{},"waiting":{}}}}})", microseconds(point.time), point.running,
                      point.waiting);
}

}  // namespace shardplan
