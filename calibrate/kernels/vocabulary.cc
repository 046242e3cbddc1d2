#include "calibrate/kernels/vocabulary.h"

#include <algorithm>

namespace shardplan {

void embed(const LocalArray& token_ids, const LocalArray& table, LocalArray& out) {
  const auto at = offsets_of(token_ids.dims, {out.dims.front()}, "token ids");
  const LocalDims columns{out.dims.back()};
  const auto from = offsets_of(table.dims, columns, "columns of the table");
  const auto& vocab = table.ids(Dim::kVocab);
  for (std::size_t t = 0; t < at.size(); ++t) {
    const auto row = std::find(vocab.begin(), vocab.end(), static_cast<std::int64_t>(token_ids.values[at[t]]));
    if (row == vocab.end()) continue;
    const float* entries = table.values.data() + (row - vocab.begin()) * table.columns();
    for (std::size_t c = 0; c < from.size(); ++c) out.values[t * from.size() + c] = entries[from[c]];
  }
}

void sample(const LocalArray& logits, const Chooser& chooser, LocalArray& token_ids) {
  const auto rows = offsets_of(logits.dims, token_ids.dims, "logits");
  const auto& vocab = logits.ids(Dim::kVocab);
  const auto& tokens = token_ids.dims.front().ids;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const float* first = logits.values.data() + rows[t];
    const std::int64_t best = chooser.choose(tokens[t], first, logits.columns(), 1).front();
    token_ids.values[t] = static_cast<float>(vocab[best]);
  }
}

}  // namespace shardplan
