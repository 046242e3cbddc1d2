#include "tools/request/plan_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "tools/cli/flag_builders.h"
#include "tools/documents/request_document.h"
#include "tools/request/limits.h"
#include "tools/request/parallel_fields.h"

namespace shardplan {
namespace {

// Of the search alone, or decided by the plan.
constexpr std::array<std::string_view, 8> kOfTheSearch{"--gpus",  "--objective", "--top",  "--verify",
                                                       "--pools", "--replicas",  "--rank", "--max-num-batched-tokens"};

struct Given {
  std::string flag;
  std::optional<std::string> value;  // nothing: a switch
};

// Flags with their values, as far as the words say: what follows a flag and is none is its value.
std::vector<Given> given_of(const Words& words) {
  std::vector<Given> out;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--")) {
      if (out.empty())
        out.push_back({word, std::nullopt});
      else
        out.back().value = word;
    } else if (equals == std::string::npos) {
      out.push_back({word, std::nullopt});
    } else {
      out.push_back({word.substr(0, equals), word.substr(equals + 1)});
    }
  }
  return out;
}

std::optional<std::string> take(std::vector<Given>& given, std::string_view flag) {
  const auto it = std::find_if(given.begin(), given.end(), [flag](const Given& g) { return g.flag == flag; });
  if (it == given.end()) return std::nullopt;
  const std::string value = it->value.value_or("");
  given.erase(it);
  return value;
}

bool has(const std::vector<Given>& given, std::string_view flag) {
  return std::any_of(given.begin(), given.end(), [flag](const Given& g) { return g.flag == flag; });
}

std::int64_t rank_of(const std::string& text) {
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 1 || rank > kMostPlans)
    throw InputError("--rank", fmt::format("\"{}\" is no rank", text), "a plan's rank in the document, from 1");
  return rank;
}

const Json& plan_ranked(const Json& document, const std::string& file, std::int64_t rank) {
  const auto plans = document.find("plans");
  if (plans == document.end() || !plans->is_array())
    throw InputError(file + ": /plans", "is no list", "a plan document");
  if (plans->empty()) throw InputError(file + ": /plans", "holds no plan: none met what was asked", "a document with plans");
  if (rank > std::ssize(*plans))
    throw InputError("--rank", fmt::format("{} is not in {}", rank, file), plans->size() == 1 ? "1, its only plan" : fmt::format("1 to {}", plans->size()));
  return (*plans)[static_cast<std::size_t>(rank - 1)];
}

std::string counts_text(const Json& list) {
  std::string text;
  for (const Json& count : list) text += (text.empty() ? "" : ",") + count.dump();
  return text;
}

// The flags of a layout as parallel_document wrote it.
void add_layout(JsonObject parallel, std::vector<Given>& out) {
  for (const DegreeField& field : degree_fields())
    out.push_back({flag_of(field.name), std::to_string(parallel.integer(field.name, 1, kMostGpus))});
  for (const char* key : {"dense_tp", "shared_expert_tp"}) {
    if (parallel.has(key)) out.push_back({flag_of(key), std::to_string(parallel.integer(key, 1, kMostGpus))});
  }
  if (const Json* layers = parallel.find("pp_layers")) out.push_back({"--pp-layers", counts_text(*layers)});
  JsonObject variant = parallel.object("variant");
  const bool helix = variant.boolean_or("helix", false);
  if (helix) out.push_back({"--helix", std::nullopt});
  if (variant.boolean_or("q_replicate", false) && !helix) out.push_back({"--q-replicate", std::nullopt});
  for (const char* key : {"dcp_comm", "pcp_comm", "pcp_layout", "moe_comm", "overlap"}) {
    if (!variant.has(key) || (helix && std::string_view(key) == "dcp_comm")) continue;
    std::string value = variant.string(key);
    if (variant.has("overlap_chunks") && std::string_view(key) == "overlap")
      value += ":" + std::to_string(variant.integer("overlap_chunks", 1, kMostParts));
    out.push_back({flag_of(key), std::move(value)});
  }
  if (variant.boolean_or("elastic_ep", false)) out.push_back({"--elastic-ep", std::nullopt});
  if (const Json* factor = variant.find("capacity_factor")) out.push_back({"--capacity-factor", factor->dump()});
  for (const auto& [key, usual] :
       {std::pair{"hop_b", 1}, std::pair{"cp_interleave", 1}, std::pair{"redundant_experts", 0}}) {
    const std::int64_t value = variant.integer_or(key, usual, 0, kMostGpus);
    if (value != usual) out.push_back({flag_of(key), std::to_string(value)});
  }
}

std::vector<Given> plan_of(const std::string& file, std::int64_t rank, bool has_traffic) {
  std::vector<Given> out;
  for (Given& asked : given_of(read_request_words(file))) {
    if (std::find(kOfTheSearch.begin(), kOfTheSearch.end(), asked.flag) == kOfTheSearch.end())
      out.push_back(std::move(asked));
  }
  const Json document = read_json_file(file);
  JsonObject plan(plan_ranked(document, file, rank), file, fmt::format("/plans/{}", rank - 1));
  std::vector<Given> layout;
  add_layout(plan.object("parallel"), layout);
  for (Given& flag : layout) {
    (void)take(out, flag.flag);  // one that the question fixed
    out.push_back(std::move(flag));
  }
  out.push_back({"--max-num-batched-tokens", std::to_string(plan.integer("max_batched_tokens", 1, kMostTokens))});
  if (!has_traffic && !has(out, "--concurrency") && !has(out, "--request-rate")) {
    const double load = plan.object("serving").number("concurrency", 0, kMostSequences);
    out.push_back({"--concurrency", std::to_string(std::max<std::int64_t>(1, std::llround(load)))});
  }
  return out;
}

}  // namespace

FlagGroup plan_source_flags() {
  static std::string ignored;
  return {"A plan of a document, in place of model, machine, traffic and layout",
          {text_flag("--plan", "PLAN.json",
                     "what shardplan plan --format json wrote; other flags go before what it says", ignored),
           text_flag("--rank", "N", "which of its plans (1)", ignored)}};
}

Words with_plan(const Words& words) {
  std::vector<Given> given = given_of(words);
  const std::optional<std::string> file = take(given, "--plan");
  if (!file && has(given, "--rank")) throw InputError("--rank", "is a rank in no document", "--plan beside it");
  if (!file) return words;
  if (file->empty()) throw InputError("--plan", "needs a value", "a plan document");
  const std::int64_t rank = rank_of(take(given, "--rank").value_or("1"));
  const bool has_traffic = has(given, "--concurrency") || has(given, "--request-rate") || has(given, "--trace") ||
                           has(given, "--batch") || has(given, "--prefill-tokens");
  for (Given& flag : plan_of(*file, rank, has_traffic)) {
    const bool traffic = flag.flag == "--concurrency" || flag.flag == "--request-rate";
    if (!has(given, flag.flag) && !(traffic && has_traffic)) given.push_back(std::move(flag));
  }
  Words out;
  for (const Given& flag : given) {
    out.push_back(flag.flag);
    if (flag.value) out.push_back(*flag.value);
  }
  return out;
}

}  // namespace shardplan
