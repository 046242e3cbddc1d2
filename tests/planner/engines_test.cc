#include <set>

#include "planner/engine.h"
#include "planner/objective.h"
#include "planner/rules.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TEST_CASE("Engines are found by name, none is neutral, and a typo names the nearest") {
  CHECK(std::string(require_engine("").name) == "neutral");
  CHECK(std::string(require_engine("vllm").name) == "vllm");
  CHECK_THAT(message_of([] { (void)require_engine("vlm"); }), contains_text("vllm"));
}

TEST_CASE("Rule ids are unique and every message can be filled in") {
  for (const Engine& engine : engines()) {
    std::set<std::string> ids;
    const PlanRequest request = request_for({.model = "deepseek-v3"});
    for (const EngineRule& rule : engine.rules()) {
      INFO(rule.id);
      CHECK(ids.insert(rule.id).second);
      CHECK(!rule_message(rule, {request.model, degrees(8), request.hardware}, 7).empty());
    }
  }
}

TEST_CASE("Versions compare by number, and a range ends before its end") {
  CHECK(parse_version("0.30") > parse_version("0.4"));
  CHECK(parse_version("v0.19.1") == Version{0, 19, 1});
  CHECK(parse_version("0.30.0rc1") == Version{0, 30, 0});
  const VersionRange range{"0.21", "0.31"};
  CHECK(range.contains("0.21"));
  CHECK(range.contains("0.30.9"));
  CHECK(!range.contains("0.31"));
  CHECK(!range.contains("0.20.4"));
  CHECK_THAT(message_of([] { (void)parse_version("main"); }), contains_text("--engine-version"));
}

TEST_CASE("A day tells the release that was run, where it is one that is known") {
  const Engine& vllm = require_engine("vllm");
  CHECK(vllm.release_at("2025-10-29") == "0.10.2");
  CHECK(vllm.release_at("2026-03-01") == "0.17");
  CHECK(vllm.release_at("2030-01-01") == "0.19");
  for (const char* day : {"", "2024-12-31", "yesterday", "29.10.2025", "2025"}) CHECK(vllm.release_at(day).empty());
}

TEST_CASE("Where engines fuse an all-reduce with the norm behind it") {
  const PlanRequest request = request_for({});
  const auto limit = [&](const char* engine, const char* version, const ParallelConfig& config, const char* machine, std::int64_t ranks) {
    return require_engine(engine).fused_all_reduce(request.model, config, load_hardware(machine), version).limit_of(ranks);
  };
  CHECK(limit("vllm", "0.30", {.tp = 8}, "h200-sxm", 8) == 512 * 1024);
  CHECK(limit("vllm", "0.30", {.tp = 8}, "b200-sxm", 8) == 1024 * 1024);
  CHECK(limit("vllm", "0.12", {.tp = 8}, "h200-sxm", 8) == 0);
  CHECK(limit("vllm", "0.12", {.tp = 8}, "b200-sxm", 8) > 0);
  CHECK(limit("vllm", "0.30", {.tp = 8}, "a100-sxm-80gb", 8) == 0);
  CHECK(limit("vllm", "0.30", {.tp = 1}, "h200-sxm", 1) == 0);
  CHECK(limit("vllm", "0.19", {.dpa = 2, .tp = 4}, "h200-sxm", 4) == 0);
  CHECK(limit("vllm", "0.21", {.dpa = 2, .tp = 4}, "h200-sxm", 4) > 0);
  CHECK(limit("trtllm", "1.2", {.tp = 2}, "h200-sxm", 2) == 16e6);
  CHECK(limit("trtllm", "1.2", {.dpa = 2, .tp = 2}, "h200-sxm", 2) == 0);
  CHECK(limit("sglang", "0.5.20", {.tp = 8}, "h200-sxm", 8) == 0);   // not for this model
}

TEST_CASE("vLLM's memory fraction moved from 0.90 to 0.92") {
  const PlanRequest request = request_for({});
  const Engine& vllm = require_engine("vllm");
  CHECK(vllm.memory(request.model, {}, request.hardware, "0.19").memory_fraction_ratio == Approx(0.90));
  CHECK(vllm.memory(request.model, {}, request.hardware, "0.30").memory_fraction_ratio == Approx(0.92));
  // Non-torch memory of start-up logs: 0.25 GiB alone, 2.07 to 2.21 GiB at TP 2 and 4.
  const EngineMemory pair = vllm.memory(request.model, degrees(2), request.hardware, "0.19");
  const double gib = static_cast<double>((pair.context + pair.communicators).value()) / static_cast<double>(kGiB);
  CHECK(gib > 2.0);
  CHECK(gib < 2.3);
}

TEST_CASE("vLLM's batch defaults follow the GPU's memory, and an A100 counts as small") {
  const Engine& vllm = require_engine("vllm");
  const auto tokens = [&](const char* hardware) {
    const PlanRequest request = request_for({.hardware = hardware});
    return vllm.scheduler(request.model, {}, request.hardware).max_batched_tokens;
  };
  CHECK(tokens("b200-sxm") == 16384);
  CHECK(tokens("h100-sxm") == 8192);
  CHECK(tokens("a100-sxm-80gb") == 2048);
  CHECK(tokens("l40s") == 2048);
}

TEST_CASE("Objectives are found by name and a typo names the nearest") {
  for (const ObjectiveRow& row : objectives()) CHECK(parse_objective(row.name) == row.objective);
  CHECK_THAT(message_of([] { (void)parse_objective("troughput"); }), contains_text("throughput"));
}

}  // namespace
}  // namespace shardplan
