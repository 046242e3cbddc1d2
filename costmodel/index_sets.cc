#include "costmodel/index_sets.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/errors.h"
#include "base/quantity.h"

namespace shardplan {
namespace {

struct Cut {
  Layout layout = Layout::kContiguous;
  std::int64_t parts = 1;
  std::int64_t part = 0;
};

// The runs of a list, each with the part that `rank` takes of it.
std::vector<Cut> cuts_of(const Mesh& mesh, const ShardList& list, std::int64_t rank) {
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i == 0 || list[i].layout != list[i - 1].layout) cuts.push_back({list[i].layout});
    const std::int64_t size = mesh.sizes()[list[i].digit];
    const std::int64_t coordinate = mesh.coordinate(rank, list[i].digit);
    // Stripes: the outer digit counts fastest, so that a run cut short at its tail still holds the longer run's elements.
    if (list[i].layout == Layout::kStriped) cuts.back().part += coordinate * cuts.back().parts;
    else cuts.back().part = cuts.back().part * size + coordinate;
    cuts.back().parts *= size;
  }
  return cuts;
}

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Range floor_range(std::int64_t part, std::int64_t parts, std::int64_t count) {
  return {part * count / parts, (part + 1) * count / parts};
}

Range flat_range(const Cut& cut, std::int64_t count) {
  Range range = floor_range(cut.part, cut.parts, count);
  if (cut.layout == Layout::kWhole) range.end = std::min(count, std::max(range.begin + 1, range.end));
  return range;
}

bool is_flat(Layout layout) { return layout == Layout::kContiguous || layout == Layout::kWhole; }

// The cut of one ragged list, run by run. Elements of a request are adjacent in the list.
class RaggedCut {
 public:
  RaggedCut(const RaggedBatch& batch, const std::vector<TokenIndex>& all, std::int64_t interleave)
      : all_(all), interleave_(interleave), held_(all.size()) {
    std::iota(held_.begin(), held_.end(), 0);
    for (const RequestSlice& slice : batch.requests)
      (slice.phase == Phase::kDecode ? decode_ : prefill_).push_back(slice.request);
  }

  void apply(const Cut& cut) {
    if (is_flat(cut.layout))
      cut_flat(cut);
    else if (cut.layout == Layout::kByRequest)
      cut_by_request(cut);
    else if (cut.layout == Layout::kStriped)
      cut_striped(cut);
    else
      cut_within_requests(cut);
  }
  std::vector<std::int64_t> held() && { return std::move(held_); }

 private:
  using Requests = std::vector<std::int64_t>;

  const TokenIndex& token(std::int64_t index) const { return all_[static_cast<std::size_t>(index)]; }

  void cut_flat(const Cut& cut) {
    const Range range = flat_range(cut, std::ssize(held_));
    held_ = {held_.begin() + range.begin, held_.begin() + range.end};
    keep_requests_with_elements(decode_);
    keep_requests_with_elements(prefill_);
  }

  void keep_requests_with_elements(Requests& requests) const {
    std::erase_if(requests, [this](std::int64_t request) {
      return std::none_of(held_.begin(), held_.end(), [&](std::int64_t i) { return token(i).request == request; });
    });
  }

  // Counts requests without elements too (no cached position yet), so that tokens and cache of a request meet.
  void cut_by_request(const Cut& cut) {
    for (Requests* requests : {&decode_, &prefill_}) {
      const Range range = floor_range(cut.part, cut.parts, std::ssize(*requests));
      *requests = {requests->begin() + range.begin, requests->begin() + range.end};
    }
    Requests kept = decode_;
    kept.insert(kept.end(), prefill_.begin(), prefill_.end());
    std::sort(kept.begin(), kept.end());
    std::erase_if(held_,
                  [&](std::int64_t i) { return !std::binary_search(kept.begin(), kept.end(), token(i).request); });
  }

  void cut_striped(const Cut& cut) {
    std::erase_if(held_, [&](std::int64_t i) { return token(i).position / interleave_ % cut.parts != cut.part; });
  }

  void cut_within_requests(const Cut& cut) {
    std::vector<std::int64_t> kept;
    for (std::size_t begin = 0; begin < held_.size();) {
      std::size_t end = begin;
      while (end < held_.size() && token(held_[end]).request == token(held_[begin]).request) ++end;
      const auto first = held_.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = static_cast<std::int64_t>(end - begin);
      const auto keep = [&](Range range) { kept.insert(kept.end(), first + range.begin, first + range.end); };
      if (cut.layout == Layout::kBlocked) {
        keep(floor_range(cut.part, cut.parts, count));
      } else {
        keep(floor_range(cut.part, 2 * cut.parts, count));
        keep(floor_range(2 * cut.parts - 1 - cut.part, 2 * cut.parts, count));
      }
      begin = end;
    }
    held_ = std::move(kept);
  }

  const std::vector<TokenIndex>& all_;
  std::int64_t interleave_;
  std::vector<std::int64_t> held_;
  Requests decode_;  // requests of this phase that remain, in batch order
  Requests prefill_;
};

// What the busiest rank holds of one phase: `sequences` equal pieces of `each` elements.
struct Share {
  double sequences = 0;
  double each = 0;
  double start = 0;         // absolute position of the first element
  bool consecutive = true;  // the elements of a sequence are start, start+1, ...
};

// Busiest of the P parts of blocks {p, 2P-1-p} of 2P. With e = n mod 2P left over, some rank has an extra in
// both of its blocks exactly when a floor boundary falls strictly inside a step, i.e. unless e divides 2P.
double zigzag_most(std::int64_t count, std::int64_t parts) {
  const std::int64_t blocks = 2 * parts;
  const std::int64_t left = count % blocks;
  const std::int64_t extra = left == 0 ? 0 : (blocks % left == 0 ? 1 : 2);
  const std::int64_t most = count / blocks * 2 + extra;
  return static_cast<double>(most);
}

// Busiest of the parts of `each` positions from `start`, striped: whole cycles give `interleave` to all; the rest
// of a cycle starts inside a stripe and may come round to it. After another cut one part may hold all that is left.
double striped_most(const Share& share, double parts, double interleave) {
  if (!share.consecutive) return share.each;
  const double cycle = interleave * parts;
  const double whole = std::floor(share.each / cycle) * interleave;
  const double rest = std::fmod(share.each, cycle);
  const double offset = std::fmod(std::floor(share.start + 0.5), interleave);
  const double first = std::min(interleave - offset, rest) + std::max(0.0, rest - (cycle - offset));
  const double second = std::clamp(rest - (interleave - offset), 0.0, interleave);
  return whole + std::max(first, parts > 1 ? second : rest);
}

void cut_share(Share& share, const RaggedSplit::Run& run, std::int64_t interleave) {
  const auto parts = static_cast<double>(run.parts);
  if (run.layout == Layout::kByRequest) {
    share.sequences = std::ceil(share.sequences / parts);
  } else if (run.layout == Layout::kStriped) {
    share.each = striped_most(share, parts, static_cast<double>(interleave));
    share.consecutive = false;
  } else if (run.layout == Layout::kZigzag) {
    share.each = zigzag_most(static_cast<std::int64_t>(std::ceil(share.each)), run.parts);
    share.consecutive = false;
  } else {
    share.each = std::ceil(share.each / parts);
    share.consecutive = false;
  }
}

// Elements of a phase before the first flat run.
double unflattened(const RaggedSplit& split, Share share) {
  for (const RaggedSplit::Run& run : split.runs) {
    if (is_flat(run.layout)) break;
    cut_share(share, run, split.interleave);
  }
  return share.sequences * share.each;
}

// The flat runs over `total` elements. Any other run behind a flat one may leave one rank all of its part.
double flattened(const RaggedSplit& split, double total) {
  for (const RaggedSplit::Run& run : split.runs) {
    if (is_flat(run.layout)) total = std::ceil(total / static_cast<double>(run.parts));
  }
  return total;
}

}  // namespace

std::vector<TokenIndex> batch_tokens(const RaggedBatch& batch, Phase phase) {
  std::vector<TokenIndex> tokens;
  const bool every = phase == Phase::kAll || phase == Phase::kLast || phase == Phase::kVerified;
  for (const RequestSlice& slice : batch.requests) {
    if (!every && slice.phase != phase) continue;
    const bool ends = phase == Phase::kLast || (phase == Phase::kVerified && slice.phase != Phase::kDecode);
    const std::int64_t first = ends ? std::max<std::int64_t>(0, slice.new_tokens - 1) : 0;
    for (std::int64_t i = first; i < slice.new_tokens; ++i)
      tokens.push_back({slice.request, slice.prefix + i, slice.phase});
  }
  return tokens;
}

std::vector<TokenIndex> batch_positions(const RaggedBatch& batch, Phase phase, bool with_new, CachedRows rows) {
  std::vector<TokenIndex> positions;
  for (const RequestSlice& slice : batch.requests) {
    if (phase != Phase::kAll && slice.phase != phase) continue;
    const std::int64_t end = slice.prefix + (with_new ? slice.new_tokens : 0);
    const std::int64_t first = rows.window > 0 ? std::max<std::int64_t>(0, slice.prefix - rows.window + 1) : 0;
    for (std::int64_t i = first; i < end; ++i) {
      if ((i + 1) % rows.every == 0) positions.push_back({slice.request, i, slice.phase});
    }
  }
  return positions;
}

std::vector<std::int64_t> held_indices(const Mesh& mesh, const ShardList& list, std::int64_t extent,
                                       std::int64_t rank) {
  Range held = {0, extent};
  for (const Cut& cut : cuts_of(mesh, list, rank)) {
    ensure(is_flat(cut.layout), "a fixed dimension is cut contiguously");
    const Range range = flat_range(cut, held.end - held.begin);
    held = {held.begin + range.begin, held.begin + range.end};
  }
  std::vector<std::int64_t> indices(static_cast<std::size_t>(held.end - held.begin));
  std::iota(indices.begin(), indices.end(), held.begin);
  return indices;
}

std::vector<std::int64_t> held_tokens(const Mesh& mesh, const ShardList& list, const RaggedBatch& batch,
                                      const std::vector<TokenIndex>& all, std::int64_t interleave, std::int64_t rank) {
  RaggedCut ragged(batch, all, interleave);
  for (const Cut& cut : cuts_of(mesh, list, rank)) ragged.apply(cut);
  return std::move(ragged).held();
}

std::int64_t max_held(const Mesh& mesh, const ShardList& list, std::int64_t extent) {
  for (const Cut& cut : cuts_of(mesh, list, 0)) extent = ceil_div(extent, cut.parts);
  return extent;
}

bool operator==(const RaggedSplit& a, const RaggedSplit& b) {
  const auto same = [](const RaggedSplit::Run& x, const RaggedSplit::Run& y) {
    return x.layout == y.layout && x.parts == y.parts;
  };
  return a.interleave == b.interleave && std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(), same);
}

RaggedSplit ragged_split(const Mesh& mesh, const ShardList& list, std::int64_t interleave) {
  ensure(interleave >= 1, "interleave is positive");
  RaggedSplit split{{}, interleave};
  for (const Cut& cut : cuts_of(mesh, list, 0)) split.runs.push_back({cut.layout, cut.parts});
  return split;
}

double max_tokens(const RaggedSplit& split, const BatchShape& shape, Phase phase) {
  double total = 0;
  if (phase != Phase::kPrefill) {
    const double tokens = phase == Phase::kLast ? 1 : static_cast<double>(shape.decode_tokens);
    total += unflattened(split, {static_cast<double>(shape.decode_sequences), tokens, shape.decode_context - tokens});
  }
  if (phase != Phase::kDecode) {
    const bool ends = phase == Phase::kLast || phase == Phase::kVerified;
    const double tokens = ends ? 1 : static_cast<double>(shape.prefill_tokens);
    total += unflattened(split, {static_cast<double>(shape.prefill_sequences), tokens, shape.prefill_prefix});
  }
  return flattened(split, total);
}

double max_positions(const RaggedSplit& split, std::int64_t sequences, double length) {
  return flattened(split, unflattened(split, {static_cast<double>(sequences), length}));
}

}  // namespace shardplan
