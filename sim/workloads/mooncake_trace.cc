// Mooncake traces: {"timestamp": ms, "input_length", "output_length", "hash_ids": [one per 512 tokens]} per line.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"
#include "sim/workloads/trace.h"

namespace shardplan {
namespace {

constexpr double kTicksPerMillisecond = 1e4;
constexpr double kMaxMilliseconds = 1e13;
constexpr std::int64_t kHashTokens = 512;

class MooncakeTrace : public TraceReader {
 public:
  explicit MooncakeTrace(const std::string& path) : lines_(path) {}

  bool next(RequestSpec& out) override {
    if (!lines_.next()) return false;
    const Json json = parse_json(lines_.line(), lines_.where());
    JsonObject row(json, lines_.where());
    out.id = row_++;
    out.prompt_tokens = row.integer("input_length", 1, kMaxRequestTokens);
    out.output_tokens = row.integer("output_length", 1, kMaxRequestTokens);
    out.arrival = clock_.arrival(std::llround(row.number("timestamp", 0, kMaxMilliseconds) * kTicksPerMillisecond), lines_,
                                  place_of_key(lines_.line(), "timestamp"));
    read_hashes(row, out);
    return true;
  }

 private:
  // The last block of a prompt may be part-filled: its identity holds for whole blocks only and is left out.
  void read_hashes(JsonObject& row, RequestSpec& out) const {
    out.hash_tokens = kHashTokens;
    out.hashes.clear();
    const Json* ids = row.find("hash_ids");
    if (ids == nullptr) return;
    if (!ids->is_array()) throw InputError(row.where("hash_ids"), "is no list", "whole numbers");
    for (const Json& id : *ids) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0) {
        throw InputError(row.where("hash_ids") + "/" + std::to_string(out.hashes.size()), "is no block's number", "a whole number from 0");
      }
      out.hashes.push_back(id.get<std::uint64_t>());
    }
    const auto whole = static_cast<std::size_t>(out.prompt_tokens / kHashTokens);
    if (out.hashes.size() > whole) out.hashes.resize(whole);
  }

  LineReader lines_;
  ArrivalClock clock_;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_mooncake_trace(const std::string& path) { return std::make_unique<MooncakeTrace>(path); }

}  // namespace shardplan
