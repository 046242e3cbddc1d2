#include "sim/metrics/request_record.h"

#include <fmt/format.h>

#include <ostream>

namespace shardplan {

RequestRecord record_of(const Request& request) {
  return {.id = request.spec.id, .prompt_tokens = request.spec.prompt_tokens, .output_tokens = request.spec.output_tokens,
          .cached_tokens = request.cached_tokens, .replica = request.replica, .preemptions = request.preemptions, .arrival = request.spec.arrival,
          .scheduled = request.first_scheduled, .first_token = request.first_token, .last_token = request.last_token};
}

CsvRecords::CsvRecords(std::ostream& out) : out_(out) {
  out_ << "id,prompt_tokens,output_tokens,cached_tokens,replica,preemptions,arrival_seconds,scheduled_seconds,first_token_seconds,last_token_seconds\n";
}

void CsvRecords::add(const RequestRecord& r) {
  out_ << fmt::format("{},{},{},{},{},{},{:.9f},{:.9f},{:.9f},{:.9f}\n", r.id, r.prompt_tokens, r.output_tokens, r.cached_tokens, r.replica, r.preemptions,
                      to_seconds(r.arrival).value(), to_seconds(r.scheduled).value(), to_seconds(r.first_token).value(), to_seconds(r.last_token).value());
}

}  // namespace shardplan
