#include "calibrate/nodes/rank_state.h"

namespace shardplan {

bool RankState::is_first(DigitSet digits) const {
  for (Digit digit = 0; digit < graph().mesh.digit_count(); ++digit) {
    if (digits.contains(digit) && graph().mesh.coordinate(rank, digit) != 0) return false;
  }
  return true;
}

LocalArray RankState::shaped(ValueId id) const {
  const Value& value = graph().value(id);
  return LocalArray(plan.layouts.at(id, rank), floats_per_element(graph().tensor_of(id)), !value.placement.lse.empty());
}

void RankState::set(ValueId id, LocalArray array) {
  const Tensor& tensor = graph().tensor_of(id);
  const bool numbers = tensor.format != nullptr && tensor.lifetime == Lifetime::kActivation && !tensor.has(Dim::kSelected) && !tensor.has(Dim::kRouted);
  if (context.dither != nullptr && numbers && (context.storage == Storage::kFp32 || is_rounded(context.storage, tensor))) {
    context.dither->apply(context.storage, array.values);
  } else if (is_rounded(context.storage, tensor)) {
    round_to_bf16(array.values);
  }
  values[static_cast<std::size_t>(id)] = std::move(array);
}

const LocalArray& RankState::gathered(ValueId id) {
  LocalArray& array = values[static_cast<std::size_t>(id)];
  const bool is_cache = graph().tensor_of(id).lifetime == Lifetime::kCache;
  if (is_cache && array.values.empty() && !array.dims.empty()) {
    LocalArray whole(array.dims);
    context.cache.get(cache_name(id), whole);
    array = std::move(whole);
  }
  return array;
}

void RankState::send(int to, Message message, std::int64_t elements, double element_bytes, Payload payload) {
  if (context.storage == Storage::kBf16 && payload == Payload::kValues && element_bytes < 4) round_to_bf16(message.values);
  endpoint.send(first_rank + to, std::move(message), elements, element_bytes, payload);
}

}  // namespace shardplan
