#include "costmodel/layers/streams.h"

namespace shardplan {
namespace {

std::int64_t streams_of(const ModelSpec& model) {
  return model.kinds.empty() ? 0 : model.kinds.front().attention.compressed.streams;
}

TensorId like_residual(LayerBuilder& build, const char* name, DimList dims, TensorId x) {
  return build.activation(name, Part::kResidual, dims, build.graph.tensor(x).phase);
}

}  // namespace

DimList residual_dims(const ModelSpec& model) {
  const DimExtent hidden{Dim::kHidden, model.hidden};
  const std::int64_t streams = streams_of(model);
  return streams > 0 ? DimList{{Dim::kStreams, streams}, hidden} : DimList{hidden};
}

StreamSite enter_streams(LayerBuilder& build, TensorId residual) {
  const std::int64_t streams = streams_of(build.model());
  StreamSite site{.residual = residual, .input = residual};
  if (streams == 0) return site;
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent weights{Dim::kMix, (2 + streams) * streams};
  const TensorId w = build.weight("w_streams", Part::kNorm, {weights}, {{Dim::kStreams, streams}, hidden},
                                  build.model().formats.other);
  site.mix = build.matmul("streams_mix", residual, {w}, {"streams_mix"}, Part::kResidual,
                          {build.vector("b_streams", Part::kNorm, {weights})})[0];
  site.input = like_residual(build, "block_in", {hidden}, residual);
  build.graph.op(
      {.kind = OpKind::kStreamsIn, .name = "streams_in", .inputs = {residual, site.mix}, .outputs = {site.input}});
  return site;
}

TensorId leave_streams(LayerBuilder& build, const char* name, const StreamSite& site, TensorId branch) {
  const TensorId out = like_residual(build, name, residual_dims(build.model()), site.residual);
  build.graph.op({.kind = OpKind::kStreamsOut,
                  .name = "streams_out",
                  .inputs = {site.residual, branch, site.mix},
                  .outputs = {out}});
  return out;
}

TensorId copy_to_streams(LayerBuilder& build, TensorId x) {
  if (streams_of(build.model()) == 0) return x;
  const TensorId out = like_residual(build, "x_streams", residual_dims(build.model()), x);
  build.graph.op({.kind = OpKind::kStreamsOut, .name = "streams_copy", .inputs = {x}, .outputs = {out}});
  return out;
}

TensorId mean_of_streams(LayerBuilder& build, TensorId x) {
  if (streams_of(build.model()) == 0) return x;
  const TensorId out = like_residual(build, "x_mean", {{Dim::kHidden, build.model().hidden}}, x);
  build.graph.op({.kind = OpKind::kStreamsIn, .name = "streams_mean", .inputs = {x}, .outputs = {out}});
  return out;
}

}  // namespace shardplan
