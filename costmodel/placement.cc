#include "costmodel/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"

namespace shardplan {
namespace {

ShardList by_dimension(ShardList shards) {
  std::stable_sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) { return a.dim < b.dim; });
  return shards;
}

std::string shard_text(const Shard& shard) {
  if (shard.layout == Layout::kContiguous) return fmt::format("{}", shard.digit);
  return fmt::format("{} {}", shard.digit, layout_name(shard.layout));
}

std::string set_text(const char* name, DigitSet digits, int digit_count) {
  std::string text;
  for (int d = 0; d < digit_count; ++d) {
    if (digits.contains(static_cast<Digit>(d))) text += (text.empty() ? "" : ",") + std::to_string(d);
  }
  return text.empty() ? "" : fmt::format(" {}{{{}}}", name, text);
}

}  // namespace

const char* dim_name(Dim dim) {
  switch (dim) {
    case Dim::kTokens:
      return "tokens";
    case Dim::kPositions:
      return "positions";
    case Dim::kRequests:
      return "requests";
    case Dim::kHidden:
      return "hidden";
    case Dim::kHeads:
      return "heads";
    case Dim::kKvHeads:
      return "kv_heads";
    case Dim::kHeadDim:
      return "head_dim";
    case Dim::kQueryLatent:
      return "query_latent";
    case Dim::kKvLatent:
      return "kv_latent";
    case Dim::kFfn:
      return "ffn";
    case Dim::kExperts:
      return "experts";
    case Dim::kRouted:
      return "routed";
    case Dim::kExpertHidden:
      return "expert_hidden";
    case Dim::kIndexHeads:
      return "index_heads";
    case Dim::kSelected:
      return "selected";
    case Dim::kVocab:
      return "vocab";
    case Dim::kOutputLatent:
      return "output_latent";
    case Dim::kStreams:
      return "streams";
    case Dim::kMix:
      return "mix";
    case Dim::kPair:
      return "pair";
  }
  throw InternalError("unknown dimension");
}

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kWhole:
      return "whole";
    case Layout::kByRequest:
      return "by_request";
    case Layout::kBlocked:
      return "blocked";
    case Layout::kZigzag:
      return "zigzag";
    case Layout::kStriped:
      return "striped";
  }
  throw InternalError("unknown layout");
}

ShardList Placement::of(Dim dim) const {
  ShardList list;
  for (const Shard& shard : shards) {
    if (shard.dim == dim) list.push_back(shard);
  }
  return list;
}

DigitList Placement::digits(Dim dim) const {
  DigitList list;
  for (const Shard& shard : shards) {
    if (shard.dim == dim) list.push_back(shard.digit);
  }
  return list;
}

const Shard* Placement::at(Digit digit) const {
  for (const Shard& shard : shards) {
    if (shard.digit == digit) return &shard;
  }
  return nullptr;
}

DigitSet Placement::sharded() const {
  DigitSet digits;
  for (const Shard& shard : shards) digits.insert(shard.digit);
  return digits;
}

void Placement::append(Dim dim, const DigitList& digits, Layout layout) {
  for (const Digit digit : digits) {
    ensure(at(digit) == nullptr, "a digit shards one dimension at most");
    shards.push_back({dim, digit, layout});
  }
}

void Placement::remove(DigitSet digits) {
  shards.remove_if([digits](const Shard& shard) { return digits.contains(shard.digit); });
}

bool operator==(const Placement& a, const Placement& b) {
  return a.sum == b.sum && a.lse == b.lse && a.routed == b.routed && by_dimension(a.shards) == by_dimension(b.shards);
}

std::string Placement::text(const Mesh& mesh) const {
  std::string text;
  const ShardList sorted = by_dimension(shards);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool first = i == 0 || sorted[i].dim != sorted[i - 1].dim;
    const bool last = i + 1 == sorted.size() || sorted[i].dim != sorted[i + 1].dim;
    text += first ? fmt::format(" {}/[", dim_name(sorted[i].dim)) : ",";
    text += shard_text(sorted[i]) + (last ? "]" : "");
  }
  text += set_text("sum", sum, mesh.digit_count());
  text += set_text("lse", lse, mesh.digit_count());
  text += set_text("routed", routed, mesh.digit_count());
  return text.empty() ? "replicate" : text.substr(1);
}

}  // namespace shardplan
