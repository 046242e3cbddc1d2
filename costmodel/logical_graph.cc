#include "costmodel/logical_graph.h"

#include <algorithm>
#include <utility>

namespace shardplan {

const char* op_name(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbed: return "embed";
    case OpKind::kNorm: return "norm";
    case OpKind::kSquares: return "squares";
    case OpKind::kMatmul: return "matmul";
    case OpKind::kRotary: return "rotary";
    case OpKind::kAppend: return "append";
    case OpKind::kPrefix: return "prefix";
    case OpKind::kAttention: return "attention";
    case OpKind::kIndex: return "index";
    case OpKind::kChoose: return "choose";
    case OpKind::kCompress: return "compress";
    case OpKind::kRegroup: return "regroup";
    case OpKind::kStreamsIn: return "streams_in";
    case OpKind::kStreamsOut: return "streams_out";
    case OpKind::kScan: return "scan";
    case OpKind::kActivate: return "activate";
    case OpKind::kRoute: return "route";
    case OpKind::kAdmit: return "admit";
    case OpKind::kExperts: return "experts";
    case OpKind::kAdd: return "add";
    case OpKind::kConcat: return "concat";
    case OpKind::kSplit: return "split";
    case OpKind::kJoin: return "join";
    case OpKind::kLast: return "last";
    case OpKind::kSample: return "sample";
  }
  return "?";
}

const NumberFormat& position_format() {
  static const NumberFormat kFormat{.name = "position", .help = "a chosen position", .bits = 32};
  return kFormat;
}

const NumberFormat& candidate_format() {
  static const NumberFormat kFormat{.name = "candidate", .help = "a position and its score", .bits = 64};
  return kFormat;
}

const char* form_name(StepForm form) {
  switch (form) {
    case StepForm::kDecode: return "decode";
    case StepForm::kPrefill: return "prefill";
    case StepForm::kMixed: return "mixed";
  }
  return "?";
}

TensorId LogicalGraph::add(Tensor added) {
  tensors.push_back(std::move(added));
  return static_cast<TensorId>(tensors.size()) - 1;
}

LogicalOp& LogicalGraph::op(LogicalOp added) {
  ops.push_back(std::move(added));
  return ops.back();
}

}  // namespace shardplan
