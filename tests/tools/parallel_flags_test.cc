// What follows from the degrees that were given.
#include "tools/request/parallel_flags.h"

#include <sstream>

#include "models/catalog.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tools/cli/command_line.h"

namespace shardplan {
namespace {

ParallelFlags parsed(const std::string& text) {
  ParallelFlags flags;
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  (void)parse_command_line({"test", "", "", parallel_flags(flags), {}}, words);
  check_parallel_flags(flags);
  return flags;
}

// "moe_tp ep moe_dp" of a MoE model at these flags.
std::string experts(const std::string& text) {
  const ParallelConfig c = complete_config(parsed(text), load_model("qwen3-235b-a22b"), 0);
  return std::to_string(c.moe_tp) + " " + std::to_string(c.ep) + " " + std::to_string(c.moe_dp);
}

}  // namespace

TEST_CASE("Without an FFN degree experts are split over every rank of a stage") {
  CHECK(experts("") == "1 1 1");
  CHECK(experts("--tp 8") == "8 1 1");
  CHECK(experts("--tp 4 --dpa 2 --pp 2") == "8 1 1");
}

TEST_CASE("What --ep leaves inside an attention group splits experts, outside it copies them") {
  CHECK(experts("--tp 8 --ep 8") == "1 8 1");
  CHECK(experts("--tp 8 --ep 4") == "2 4 1");
  CHECK(experts("--dpa 8 --ep 8") == "1 8 1");
  CHECK(experts("--dpa 8 --ep 4") == "1 4 2");
  CHECK(experts("--dpa 2 --tp 4 --ep 2") == "4 2 1");
}

TEST_CASE("Two given FFN degrees leave the third") {
  CHECK(experts("--tp 8 --ep 2 --moe-tp 2") == "2 2 2");
  CHECK(experts("--tp 8 --ep 2 --moe-dp 2") == "2 2 2");
  CHECK(experts("--tp 8 --moe-tp 2") == "2 4 1");
  CHECK(experts("--tp 8 --moe-dp 2") == "4 1 2");
}

TEST_CASE("Degrees that do not divide stay as given, for the rules to refuse") {
  CHECK(experts("--tp 8 --ep 3") == "1 3 1");
  CHECK(experts("--tp 2 --ep 8") == "1 8 1");
}

TEST_CASE("A dense model keeps an --ep that makes no sense, for the rules to refuse") {
  const ParallelConfig c = complete_config(parsed("--tp 8 --ep 8"), load_model("llama-3.1-8b"), 0);
  CHECK(c.ep == 8);
  CHECK(complete_config(parsed("--tp 8"), load_model("llama-3.1-8b"), 0).moe_tp == 1);
}

TEST_CASE("Tokens are gathered where ranks of a stage have different ones") {
  const ModelSpec model = load_model("qwen3-235b-a22b");
  CHECK(complete_config(parsed("--tp 8 --ep 8"), model, 0).variant.moe_comm == MoeComm::kReplicated);
  CHECK(complete_config(parsed("--dpa 8 --ep 8"), model, 0).variant.moe_comm == MoeComm::kAllGather);
  CHECK(complete_config(parsed("--dpa 8 --ep 8 --moe-comm all_to_all"), model, 0).variant.moe_comm == MoeComm::kAllToAll);
}

TEST_CASE("GPUs beyond one instance are replicas, a layer split counts the stages") {
  const ModelSpec model = load_model("llama-3.1-8b");
  CHECK(complete_config(parsed("--tp 4"), model, 16).replicas == 4);
  CHECK(complete_config(parsed("--pp-layers 10,10,12"), model, 0).pp == 3);
  CHECK_THAT(message_of([&] { (void)complete_config(parsed("--tp 4"), model, 6); }), contains_text("a multiple of 4"));
}

TEST_CASE("Flags are remembered by the names of fixed fields") {
  const ParallelFlags flags = parsed("--tp 8 --dcp 2 --dcp-comm a2a --overlap chunk:4");
  CHECK(flags.has("tp"));
  CHECK(flags.has("dcp_comm"));
  CHECK_FALSE(flags.has("ep"));
  CHECK(flags.config.variant.overlap == Overlap::kChunk);
  CHECK(flags.config.variant.overlap_chunks == 4);
}

}  // namespace shardplan
