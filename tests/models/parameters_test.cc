// Parameter counts against published totals and against algebra written out by hand.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "models/catalog.h"
#include "models/weights.h"
#include "tests/catch.h"
#include "tests/models/shared_data.h"
#include "tests/models/small_configs.h"

namespace shardplan {
namespace {

double gibibytes(const ModelSpec& model) {
  return static_cast<double>(weight_bytes(model).value()) / static_cast<double>(kGiB);
}

TEST_CASE("Catalog models have the published number of parameters, exactly") {
  // Sums of the tensors of the published checkpoints, MTP layers and vision towers left out.
  struct Row {
    const char* name;
    std::int64_t parameters;
  };
  const Row row = GENERATE(
      Row{"llama-3.1-8b", 8'030'261'248}, Row{"llama-3.1-70b", 70'553'706'496}, Row{"llama-3.1-405b", 405'853'388'800},
      Row{"qwen3-8b", 8'190'735'360}, Row{"qwen3-32b", 32'762'123'264}, Row{"qwen3-30b-a3b", 30'532'122'624},
      Row{"qwen3-235b-a22b", 235'093'634'560}, Row{"qwen3-coder-480b", 480'154'875'392},
      Row{"mixtral-8x7b", 46'702'792'704}, Row{"deepseek-v3", 671'026'419'200}, Row{"deepseek-r1", 671'026'419'200},
      Row{"gpt-oss-20b", 20'914'757'184}, Row{"gpt-oss-120b", 116'829'156'672});
  CHECK(count_parameters(load_model(row.name)).total() == row.parameters);
}

TEST_CASE("Catalog models agree with the golden totals") {
  const auto path = shared_path("golden.json");
  if (!path) return;
  const Json golden = read_json_file(*path);
  for (const Json& item : golden.at("cases")) {
    if (item.at("id") != "parameters") continue;
    for (const auto& [name, total] : item.at("expect").items()) {
      INFO(name);
      CHECK(static_cast<double>(count_parameters(load_model(name)).total()) ==
            Approx(total.get<double>()).epsilon(item.at("rel_tol").get<double>()));
    }
  }
}

TEST_CASE("Llama-3.1-8B by hand") {
  // per layer: Q and O 2*4096*4096, K and V 2*1024*4096, FFN 3*14336*4096, two norms of 4096.
  const ParameterCount count = count_parameters(load_model("llama-3.1-8b"));
  CHECK(count.attention == 32LL * (2 * 4096 * 4096 + 2 * 1024 * 4096));
  CHECK(count.dense_ffn == 32LL * 3 * 14336 * 4096);
  CHECK(count.other == 32 * 2 * 4096 + 4096);
  CHECK(count.embedding == 128256LL * 4096);
  CHECK(count.head == count.embedding);
  CHECK(count.experts == 0);
}

TEST_CASE("A layer of DeepSeek-V3 by hand") {
  // q_a 1536*7168, q_b 128*192*1536, kv_a 576*7168, kv_b 128*256*512, o 7168*128*128.
  const ParameterCount count = count_parameters(load_model("deepseek-v3"));
  CHECK(count.attention == 61LL * (1536 * 7168 + 128 * 192 * 1536 + 576 * 7168 + 128 * 256 * 512 + 7168 * 128 * 128));
  CHECK(count.dense_ffn == 3LL * 3 * 18432 * 7168);
  CHECK(count.shared_experts == 58LL * 3 * 2048 * 7168);
  CHECK(count.experts == 58LL * 256 * 3 * 2048 * 7168);
  // norms of hidden, q latent and KV latent; routers with one bias per expert
  CHECK(count.other == 61LL * (2 * 7168 + 1536 + 512) + 58LL * 256 * (7168 + 1) + 7168);
}

TEST_CASE("gpt-oss matches its model card") {
  // Card: 20.91 and 116.83 B in all, 3.61 and 5.13 B active without the embedding, 12.8 and 60.8 GiB.
  const ModelSpec small = load_model("gpt-oss-20b");
  const ModelSpec large = load_model("gpt-oss-120b");
  const auto active = [](const ModelSpec& model) {
    return static_cast<double>(count_active_parameters(model) - count_parameters(model).embedding) / 1e9;
  };
  CHECK(active(small) == Approx(3.61).margin(0.005));
  CHECK(active(large) == Approx(5.13).margin(0.005));
  CHECK(gibibytes(small) == Approx(12.8).margin(0.05));
  CHECK(gibibytes(large) == Approx(60.8).margin(0.05));
}

TEST_CASE("Active parameters are those the names promise") {
  struct Row {
    const char* name;
    double billions;
  };
  const Row row = GENERATE(Row{"qwen3-30b-a3b", 3.3}, Row{"qwen3-235b-a22b", 22}, Row{"qwen3-coder-480b", 35},
                           Row{"mixtral-8x7b", 12.9}, Row{"deepseek-v3", 37}, Row{"kimi-k2.5", 32});
  INFO(row.name);
  CHECK(static_cast<double>(count_active_parameters(load_model(row.name))) / 1e9 == Approx(row.billions).epsilon(0.03));
}

TEST_CASE("A dense model uses all of its parameters") {
  const ModelSpec model = load_model("qwen3-32b");
  CHECK(count_active_parameters(model) == count_parameters(model).total());
}

TEST_CASE("All experts of a sparse model are resident, whatever is active") {
  // Reports of planners that size memory by active parameters: bf16 weights are 2 bytes of the total.
  const ModelSpec model = load_model("qwen3-30b-a3b");
  CHECK(weight_bytes(model) == Bytes(2 * count_parameters(model).total()));
}

TEST_CASE("Llama-3.1-70B takes 131.42 GiB in bf16") {
  CHECK(gibibytes(load_model("llama-3.1-70b")) == Approx(131.42).margin(0.005));
}

TEST_CASE("Llama-3.1-70B in fp8 takes the 67.7 GiB that engines log") {
  ModelSpec model = load_model("llama-3.1-70b");
  override_weight_format(model, require_format("fp8", "test"));
  CHECK(gibibytes(model) == Approx(67.72).epsilon(0.001));
}

TEST_CASE("DeepSeek-V3 stores nearly a byte per parameter, embedding and head two") {
  const ModelSpec model = load_model("deepseek-v3");
  const std::int64_t wide = 2LL * 129280 * 7168;
  const double expected = static_cast<double>(count_parameters(model).total() + wide);
  CHECK(static_cast<double>(weight_bytes(model).value()) == Approx(expected).epsilon(0.001));
}

TEST_CASE("A tied head is counted once") {
  const ModelSpec tied = read_small(small_llama(R"(, "tie_word_embeddings": true)"));
  const ModelSpec apart = read_small(small_llama());
  CHECK(count_parameters(tied).head == 0);
  CHECK(count_parameters(apart).total() - count_parameters(tied).total() == 1000 * 64);
}

TEST_CASE("The list of weights holds what the counts say") {
  for (const CatalogEntry& entry : model_catalog()) {
    INFO(entry.name);
    const ModelSpec model = load_model(entry.name);
    std::int64_t sum = 0;
    for (const WeightTensor& tensor : outer_weights(model)) sum += tensor.elements();
    for (const int kind : model.layers) {
      for (const WeightTensor& tensor : layer_weights(model.kinds[static_cast<std::size_t>(kind)], model.hidden))
        sum += tensor.elements();
    }
    CHECK(sum == count_parameters(model).total());
  }
}

}  // namespace
}  // namespace shardplan
