// cuDNN's graphs of attention, built and judged by the library for devices that are only described.
#include <algorithm>
#include <numeric>
#include <string>

#include "calibrate/cuda/cudnn_attention.h"
#include "tests/catch.h"

namespace shardplan::cuda {
namespace {

const CudnnLibrary* library_or_skip() {
  std::string why;
  const CudnnLibrary* library = cudnn_library(&why);
  if (library == nullptr) WARN("skipped: " << why);
  return library;
}

// As the library writes the properties of a device.
std::string described(int version, int multiprocessors, int shared_bytes) {
  return R"({"cudaDeviceId":0,"driverVer":13000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
         R"("regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,)"
         R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,)"
         R"("isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":62914560,)"
         R"("deviceName":"a device","totalGlobalMem":80000000000,"deviceVer":)" +
         std::to_string(version) + ",\"multiProcessorCount\":" + std::to_string(multiprocessors) +
         ",\"maxSharedMemoryPerBlockOptin\":" + std::to_string(shared_bytes) + "}";
}

CudnnDims read_back(const CudnnLibrary& library, const CudnnDescriptor& tensor, cudnnBackendAttributeName_t name) {
  CudnnDims numbers(4, 0);
  std::int64_t count = 0;
  library.check(library.get_attribute(tensor.get(), name, CUDNN_TYPE_INT64, 4, &count, numbers.data()), "read back");
  return numbers;
}

const CudnnAttentionShape kDecode{
    .batch = 4, .tokens = 1, .length = 2000, .heads = 32, .kv_heads = 8, .qk_dim = 128, .v_dim = 128, .page = 16};
const CudnnAttentionShape kPrompt{
    .batch = 2, .tokens = 700, .length = 700, .heads = 32, .kv_heads = 8, .qk_dim = 128, .v_dim = 128};
const CudnnAttentionShape kChunk{
    .batch = 1, .tokens = 512, .length = 1512, .heads = 32, .kv_heads = 8, .qk_dim = 128, .v_dim = 128};
const CudnnAttentionShape kLatent{
    .batch = 8, .tokens = 1, .length = 1024, .heads = 128, .kv_heads = 1, .qk_dim = 576, .v_dim = 512};
const CudnnAttentionShape kExpanded{
    .batch = 1, .tokens = 512, .length = 512, .heads = 16, .kv_heads = 16, .qk_dim = 192, .v_dim = 128};

TEST_CASE("without the library there is one line that says so") {
  CudnnLibrary library;
  CHECK(load_cudnn("libnothing.so.9", library) == "cannot load libnothing.so.9");
  CHECK(load_cudnn("libm.so.6", library) == "libm.so.6 lacks the backend interface");
}

TEST_CASE("strides of tensors without gaps, and pages that all requests take in turn") {
  CHECK(packed_strides({2, 3, 4, 5}) == CudnnDims{60, 20, 5, 1});
  const auto pages = dealt_pages(kDecode);
  REQUIRE(std::ssize(pages) == kDecode.batch * kDecode.pages());
  auto sorted = pages;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) CHECK(sorted[i] == static_cast<std::int32_t>(i));
  CHECK(pages[1] == 4);  // of the first request the second page comes behind the first of all four
  CHECK(kDecode.cached_positions() == 4 * 125 * 16);
}

TEST_CASE("tensors of the graph lie as our buffers do") {
  const CudnnLibrary* library = library_or_skip();
  if (library == nullptr) return;
  for (const CudnnAttentionShape& shape : {kPrompt, kChunk, kDecode, kLatent}) {
    CudnnGraph graph(*library);
    const CudnnAttentionTensors ids = build_attention(graph, shape);
    const auto dims = [&](std::int64_t id) { return read_back(*library, graph.at(id), CUDNN_ATTR_TENSOR_DIMENSIONS); };
    const auto strides = [&](std::int64_t id) { return read_back(*library, graph.at(id), CUDNN_ATTR_TENSOR_STRIDES); };
    CHECK(dims(ids.q) == CudnnDims{shape.batch, shape.heads, shape.tokens, shape.qk_dim});
    CHECK(strides(ids.q) ==
          CudnnDims{shape.tokens * shape.heads * shape.qk_dim, shape.qk_dim, shape.heads * shape.qk_dim, 1});
    CHECK(dims(ids.o) == CudnnDims{shape.batch, shape.heads, shape.tokens, shape.v_dim});
    const CudnnDims k = dims(ids.k);
    const CudnnDims k_strides = strides(ids.k);
    const bool turned = shape.tokens > 1;  // for the product
    CHECK(k[turned ? 2 : 3] == shape.qk_dim);
    CHECK(k_strides[turned ? 2 : 3] == 1);
    CHECK(k_strides[turned ? 3 : 2] == shape.kv_heads * shape.qk_dim);
    CHECK(k_strides[1] == shape.qk_dim);
    CHECK(k[0] * k_strides[0] ==
          shape.cached_positions() * shape.kv_heads * shape.qk_dim);  // all of the buffer, no more
    const CudnnDims v = dims(ids.v);
    CHECK(v[0] * strides(ids.v)[0] == shape.cached_positions() * shape.kv_heads * shape.v_dim);
    CHECK((ids.key_pages > 0) == shape.is_paged());
    CHECK((ids.length > 0) == (shape.tokens > 1 && shape.length != shape.tokens));
    CHECK((ids.lowest > 0) == (shape.tokens > 1));
  }
}

TEST_CASE(
    "the library has kernels for decode over pages, causal prompts, chunks behind a prefix, and latent attention") {
  const CudnnLibrary* library = library_or_skip();
  if (library == nullptr) return;
  struct Device {
    const char* name;
    std::string properties;
  };
  for (const Device& d : {Device{"sm_80", described(800, 108, 166'912)}, Device{"sm_90", described(900, 132, 232'448)},
                          Device{"sm_100", described(1000, 148, 232'448)}}) {
    const CudnnDescriptorPtr device = cudnn_device(*library, d.properties);
    for (const CudnnAttentionShape& shape : {kDecode, kPrompt, kChunk, kLatent, kExpanded}) {
      INFO(d.name << ", " << shape.tokens << " of " << shape.length << " positions, " << shape.heads << " heads of "
                  << shape.qk_dim);
      CudnnGraph graph(*library);
      static_cast<void>(build_attention(graph, shape));
      CHECK(!cudnn_configurations(*library, graph, *device).empty());
    }
  }
}

TEST_CASE("what the library refuses is an error with its words, and a graph without a kernel has no configuration") {
  const CudnnLibrary* library = library_or_skip();
  if (library == nullptr) return;
  std::string said;
  try {
    static_cast<void>(cudnn_device(*library, std::string("{}")));  // describes nothing
  } catch (const CudnnError& error) {
    said = error.what();
  }
  CHECK(said.starts_with("cuDNN: "));
  CudnnAttentionShape odd = kPrompt;
  odd.qk_dim = 127;  // no multiple of what the kernels load at once
  odd.v_dim = 127;
  CudnnGraph none(*library);
  static_cast<void>(build_attention(none, odd));
  CHECK(cudnn_configurations(*library, none, *cudnn_device(*library, described(900, 132, 232'448))).empty());
  CHECK_THROWS(build_attention(
      none, {.batch = 1, .tokens = 2, .length = 2, .heads = 1, .kv_heads = 1, .qk_dim = 64, .v_dim = 64, .page = 16}));
}

}  // namespace
}  // namespace shardplan::cuda
