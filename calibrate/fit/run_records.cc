#include "calibrate/fit/run_records.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "costmodel/logical_graph.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostOfAShape = std::int64_t{1} << 40;

// What is missing, or of another type, is 0 or empty: the table's reader says so.
std::int64_t number(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_number_integer()) return 0;
  return std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, kMostOfAShape);
}

double real(const Json& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const Json& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json attention_shape(const Json& line, bool decode) {
  Json shape = {{"batch", number(line, "batch")},
                {"heads", number(line, "heads")},
                {"kv_heads", number(line, "kv_heads")},
                {"head_dim", number(line, "qk_dim")},
                {"window", number(line, "window")}};
  if (decode)
    shape["cached"] =
        std::max<std::int64_t>(1, number(line, "context") - 1);  // the token's own position is not cached before it
  else
    shape["tokens"] = number(line, "tokens");
  return shape;
}

// Without a gate n is the width itself, with one twice that: the flops of up and down tell. Gated where they are not told.
bool is_gated(const Json& line) {
  const double up = 2 * static_cast<double>(number(line, "rows")) * static_cast<double>(number(line, "k")) * static_cast<double>(number(line, "n"));
  return real(line, "flops") < 1.75 * up || up <= 0;   // 1.5 with a gate, 2 without
}

// The experts of one rank are a layer of their own: those that it holds, and the tokens whose rows come to it.
Json experts_shape(const Json& line) {
  const std::int64_t per_token = std::max<std::int64_t>(1, number(line, "per_token"));
  Json shape = {{"hidden", number(line, "k")},
          {"intermediate", number(line, "n") / (is_gated(line) ? 2 : 1)},
          {"per_token", per_token},
          {"experts", number(line, "experts")},
          {"moe_tp", 1},
          {"ep", 1},
          {"tokens", std::max<std::int64_t>(1, number(line, "rows") / per_token)}};
  for (const char* drawn : {"rows", "active", "tiles_16", "tiles_32", "tiles_64", "tiles_128"}) shape[drawn] = number(line, drawn);
  return shape;
}

}  // namespace

bool is_run_line(const Json& line) {
  return line.is_object() && !line.contains("shape") && (line.contains("ranks") || text(line, "kind") == "header");
}

std::optional<Json> table_record(const Json& line) {
  const std::string kind = text(line, "kind");
  Json record = {{"kind", kind}, {"format", text(line, "format")}, {"microseconds", real(line, "microseconds")}};
  if (number(line, "message_bytes") > 0) {
    record["format"] = "int8";  // sizes are bytes
    record["shape"] = {{"ranks", number(line, "group")}, {"elements", number(line, "message_bytes")}};
    return record;
  }
  if (kind == "gemm" && number(line, "batch") == 1) {
    record["shape"] = {{"m", number(line, "m")}, {"n", number(line, "n")}, {"k", number(line, "k")}};
  } else if ((kind == "attention_decode" || kind == "attention_prefill") && number(line, "heads") > 0) {
    record["shape"] = attention_shape(line, kind == "attention_decode");
  } else if (kind == "grouped_gemm") {
    record["shape"] = experts_shape(line);
    if (!is_gated(line)) record["kernel_source"] = "nongated";
  } else if (kind == "sampling" && text(line, "op") == op_name(OpKind::kSample)) {
    record["shape"] = {{"rows", number(line, "rows")}, {"row_bytes", number(line, "row_bytes")}};
  } else {
    return std::nullopt;
  }
  return record;
}

}  // namespace shardplan
