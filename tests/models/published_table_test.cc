// Every catalog model in one table: parameters in all and active, cache and state bytes, FLOPs of a token.
//
// Totals: "published" where a model card or the name gives them, without vision towers and MTP modules; "computed"
// where the number is ours, kept as a regression. Cache in bf16 and fp8; FLOPs of a decode token that attends to 8,192
// positions.
#include <iterator>

#include "models/catalog.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

struct Row {
  const char* name;
  double billions;          // of parameters
  double active_billions;   // computed, the embedding included
  std::int64_t cache_bf16;  // bytes per token
  std::int64_t cache_fp8;
  std::int64_t state;  // bytes per request
  double gigaflops;
};

// clang-format off
constexpr Row kRows[] = {
    {"bloom-176b", 176.247, 176.2, 4'014'080, 2'007'040, 0, 385.37},                  // published
    {"deepseek-r1", 671.026, 37.55, 70'272, 35'136, 0, 212.43},                       // published
    {"deepseek-v2-lite", 15.706, 2.6612, 31'104, 15'552, 0, 12.603},                    // published
    {"deepseek-v3", 671.026, 37.55, 70'272, 35'136, 0, 212.43},                       // published
    {"deepseek-v3.2", 671.878, 38.4, 78'324, 48'068, 0, 117.94},                      // computed; 685 with MTP and its copies of both tables
    {"deepseek-v4-flash", 284, 13.8, 6'229, 3'850, 12'206'080, 29.539},                        // published
    {"deepseek-v4-pro", 1573, 49.78, 8'918, 5'511, 18'710'528, 109.32},                        // computed; "1.6T"
    {"gemma-3-12b", 11.766, 11.77, 393'216, 196'608, 0, 25.275},                      // published: 12.19 with its vision tower
    {"gemma-3-27b", 27.009, 27.01, 507'904, 253'952, 0, 56.231},                      // published: 27.43 with its vision tower
    {"gemma-3-4b", 3.8803, 3.8803, 139'264, 69'632, 0, 8.3386},                       // published: 4.30 with its vision tower
    {"gemma-4-26b-a4b", 25.2, 3.822, 225'280, 112'640, 0, 9.4053},                    // published
    {"gemma-4-31b", 30.7, 30.7, 901'120, 450'560, 0, 68.439},                         // published
    {"glm-4.5", 352.8, 33.6, 376'832, 188'416, 0, 102.75},                               // computed; 358.3 with MTP and its copies of both tables
    {"glm-4.5-air", 106.852, 13.424, 188'416, 94'208, 0, 44.127},                          // published
    {"glm-4.6", 352.8, 33.6, 376'832, 188'416, 0, 102.75},                               // as glm-4.5
    {"glm-4.7", 352.8, 33.6, 376'832, 188'416, 0, 102.75},                               // as glm-4.5
    {"glm-5", 744, 41.78, 100'152, 61'464, 0, 109.14},                                // published
    {"glm-5.1", 744, 41.78, 100'152, 61'464, 0, 109.14},                              // published
    {"glm-5.2", 744, 41.25, 92'628, 53'940, 0, 104.25},                               // published
    {"gpt-oss-120b", 116.83, 5.712, 73'728, 36'864, 0, 12.716},                       // published
    {"gpt-oss-20b", 20.91, 4.187, 49'152, 24'576, 0, 8.8501},                         // published
    {"kimi-k2", 1026.4, 32.86, 70'272, 35'136, 0, 132.96},                            // published
    {"kimi-k2.5", 1026.4, 32.86, 70'272, 35'136, 0, 132.96},                          // published
    {"kimi-k3", 2779.48, 105.4, 27'648, 13'824, 449'372'160, 250.2},                  // computed; "2.8T"
    {"llama-2-70b", 68.977, 68.98, 327'680, 163'840, 0, 158.91},                      // published
    {"llama-3.1-405b", 405.853, 405.9, 516'096, 258'048, 0, 875.14},                  // published
    {"llama-3.1-70b", 70.554, 70.55, 327'680, 163'840, 0, 160.48},                    // published
    {"llama-3.1-8b", 8.03, 8.03, 131'072, 65'536, 0, 19.304},                         // published
    {"llama-4-maverick", 400, 17.18, 196'608, 98'304, 0, 40.352},                     // published
    {"llama-4-scout", 107.77, 17.17, 196'608, 98'304, 0, 40.329},                     // computed; 109 with its vision tower
    {"mimo-7b", 7.62, 7.623, 147'456, 73'728, 0, 18.834},                             // published: 7.83 with MTP
    {"mimo-v2-flash", 309, 15.45, 222'720, 111'360, 0, 32.865},                       // published
    {"minimax-m2.5", 228.7, 11.03, 253'952, 126'976, 0, 33.312},                      // published
    {"minimax-m2.7", 228.7, 11.03, 253'952, 126'976, 0, 33.312},                      // published
    {"minimax-m3", 426.17, 25.96, 130'404, 68'964, 0, 54.574},                        // computed
    {"mistral-small-3.2-24b", 23.572, 23.57, 163'840, 81'920, 0, 51.171},             // published: 24.01 with its vision tower
    {"mixtral-8x22b", 140.6, 39.15, 229'376, 114'688, 0, 89.184},                     // published
    {"mixtral-8x7b", 46.7, 12.88, 131'072, 65'536, 0, 29.792},                        // published
    {"nemotron-3-nano-30b-a3b", 31.6, 3.58, 6'144, 3'072, 49'082'368, 7.3203},        // published
    {"nemotron-3-super-120b-a12b", 120.6, 12.77, 8'192, 4'096, 170'229'760, 25.748},  // published
    {"nemotron-3-ultra-550b-a55b", 550, 56.06, 12'288, 6'144, 407'961'600, 113.69},   // published
    {"nemotron-h-56b", 56.32, 56.32, 40'960, 20'480, 912'605'184, 114.31},            // computed
    {"nemotron-super-49b", 49.87, 49.87, 200'704, 100'352, 0, 110.78},                // published
    {"qwen2.5-72b", 72.706, 72.71, 327'680, 163'840, 0, 164.39},                      // published
    {"qwen2.5-7b", 7.6156, 7.6156, 57'344, 28'672, 0, 17.429},                        // published
    {"qwen3-14b", 14.768, 14.77, 163'840, 81'920, 0, 34.691},                         // published
    {"qwen3-0.6b", 0.596, 0.596, 114'688, 57'344, 0, 3.071},                          // published
    {"qwen3-1.7b", 1.72, 1.721, 114'688, 57'344, 0, 5.32},                            // published
    {"qwen3-235b-a22b", 235.09, 22.19, 192'512, 96'256, 0, 68.368},                   // published
    {"qwen3-30b-a3b", 30.53, 3.353, 98'304, 49'152, 0, 12.526},                       // published
    {"qwen3-32b", 32.76, 32.76, 262'144, 131'072, 0, 81.147},                         // published
    {"qwen3-8b", 8.19, 8.191, 147'456, 73'728, 0, 19.968},                            // published
    {"qwen3-coder-480b", 480.15, 35.47, 253'952, 126'976, 0, 94.046},                 // published
    {"qwen3-vl-235b-a22b", 235.09, 22.19, 192'512, 96'256, 0, 68.368},                // published text part
    {"qwen3-vl-2b", 1.72, 1.721, 114'688, 57'344, 0, 5.32},                           // published text part
    {"qwen3-vl-30b-a3b", 30.53, 3.353, 98'304, 49'152, 0, 12.526},                    // published text part
    {"qwen3-vl-32b", 32.76, 32.76, 262'144, 131'072, 0, 81.147},                      // published text part
    {"qwen3-vl-4b", 4.02, 4.022, 147'456, 73'728, 0, 12.876},                         // published text part
    {"qwen3-vl-8b", 8.19, 8.191, 147'456, 73'728, 0, 19.968},                         // published text part
    {"qwen3.5-122b-a10b", 122.11, 9.771, 24'576, 12'288, 153'649'152, 21.501},        // published: 125.1 with tower and MTP
    {"qwen3.5-27b", 26.9, 26.9, 65'536, 32'768, 153'944'064, 54.733},                 // computed; 27.8 with tower and MTP
    {"qwen3.5-35b-a3b", 34.66, 3.455, 20'480, 10'240, 64'389'120, 7.3446},            // computed; 36.0 with tower and MTP
    {"qwen3.5-397b-a17b", 396.35, 17.35, 30'720, 15'360, 192'061'440, 37.019},        // computed; 403 with tower and MTP
    {"step-3.7-flash", 196, 10.86, 184'320, 92'160, 0, 24.446},                       // published
};
// clang-format on

TEST_CASE("Parameters, cache, state and FLOPs of every catalog model") {
  CHECK(std::size(kRows) == model_catalog().size());
  for (const Row& row : kRows) {
    INFO(row.name);
    const ModelSpec model = load_model(row.name);
    const double parameters = static_cast<double>(count_parameters(model).total()) / 1e9;
    CHECK(parameters == Approx(row.billions).epsilon(0.005));
    CHECK(static_cast<double>(count_active_parameters(model)) / 1e9 == Approx(row.active_billions).epsilon(1e-3));
    CHECK(cache_bytes_per_token(model, *find_format("bf16")).value() == row.cache_bf16);
    CHECK(cache_bytes_per_token(model, *find_format("fp8")).value() == row.cache_fp8);
    CHECK(state_bytes_per_request(model).value() == row.state);
    CHECK(flops_per_token(model, 8192) / 1e9 == Approx(row.gigaflops).epsilon(1e-3));
  }
}

TEST_CASE("A GLM-5.2 token takes 78 latents of 656 bytes and 21 index keys of 132 in fp8") {
  CHECK(cache_bytes_per_token(load_model("glm-5.2"), *find_format("fp8")) == Bytes(78 * 656 + 21 * 132));
}

TEST_CASE("Gemma-4-31B takes 880 KiB per token inside its window, as a planner was told") {
  // 50 sliding layers of 16 heads of 256, 10 global of 4 of 512, K and V
  CHECK(cache_bytes_per_token(load_model("gemma-4-31b"), *find_format("bf16")) == Bytes(880 * 1024));
}

TEST_CASE("The state of a Qwen3.5 layer is one matrix per value head and three inputs of its convolution") {
  // 48 layers: 48 heads of 128 x 128 in fp32; 2*16*128 + 48*128 channels in bf16
  CHECK(state_bytes_per_request(load_model("qwen3.5-27b")) ==
        Bytes(48 * (48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2)));
}

TEST_CASE("Vision towers and MTP modules make up the rest of published checkpoints") {
  // Qwen3.5-122B: 125.1e9 with both; Llama-4-Maverick: 401.58e9 with a tower that its config does not describe.
  const ModelSpec model = load_model("qwen3.5-122b-a10b");
  const std::int64_t all = count_parameters(model).total() + model.vision_parameters + count_mtp_parameters(model);
  CHECK(static_cast<double>(all) / 1e9 == Approx(125.1).epsilon(0.001));
  // DeepSeek-V3: 11.5e9 of its 685e9 are the MTP module without the tables that it shares.
  CHECK(static_cast<double>(count_mtp_parameters(load_model("deepseek-v3"))) / 1e9 == Approx(11.6).epsilon(0.005));
}

}  // namespace
}  // namespace shardplan
