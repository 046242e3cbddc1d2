// Several residual streams (DeepSeek-V4): each block reads a mixture of them and writes to all.
//
// For n streams one product of all of them gives (2+n) n mixing weights per token: what a block reads of each stream,
// what each stream takes of its output, and how streams mix among themselves. The embedding starts as n copies; the
// head reads their mean. Models with one stream pass through unchanged. Source: manifold-constrained hyper-connections,
// arXiv 2512.24880, and DeepSeek-V4's published config.
#pragma once

#include "costmodel/layers/builder.h"

namespace shardplan {

struct StreamSite {
  TensorId residual = -1;
  TensorId input = -1;  // of the block
  TensorId mix = -1;    // -1: one stream
};

[[nodiscard]] StreamSite enter_streams(LayerBuilder& build, TensorId residual);
[[nodiscard]] TensorId leave_streams(LayerBuilder& build, const char* name, const StreamSite& site, TensorId branch);
[[nodiscard]] TensorId copy_to_streams(LayerBuilder& build, TensorId x);
[[nodiscard]] TensorId mean_of_streams(LayerBuilder& build, TensorId x);

}  // namespace shardplan
