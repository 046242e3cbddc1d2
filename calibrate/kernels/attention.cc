#include "calibrate/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "calibrate/kernels/product.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

}  // namespace

void BlockAttention::add_entries(const LocalArray&) { throw InternalError("this attention kernel knows no compressed entries"); }

OnlineAttention::OnlineAttention(const AttentionTask& task, const LocalArray& q, const LocalArray& out) : task_(task), q_(q) {
  const auto at = offsets_of(q.dims, row_dims(out.dims), "q of attention");
  const auto& heads = out.ids(Dim::kHeads);
  const auto& tokens = out.ids(Dim::kTokens);
  local_heads_ = heads.size();
  for (std::size_t i = 0; i < at.size(); ++i) {
    rows_.push_back({tokens[i / local_heads_], heads[i % local_heads_], at[i], 0, kNothing, 0.0F,
                     std::vector<float>(static_cast<std::size_t>(task.op.v_dim), 0.0F)});
  }
  if (task.selection == nullptr) return;
  const auto chosen = offsets_of(task.selection->dims, {out.dims.front()}, "selection of attention");
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].chosen = chosen[i / local_heads_];
}

bool OnlineAttention::is_chosen(const Row& row, std::int64_t key) const {
  if (task_.selection == nullptr) return true;
  const auto first = task_.selection->values.begin() + row.chosen;
  return std::find(first, first + task_.selection->columns(), static_cast<float>(position_of(key))) != first + task_.selection->columns();
}

bool OnlineAttention::sees(const Row& row, std::int64_t key) const {
  if (request_of(row.token) != request_of(key)) return false;
  const std::int64_t back = position_of(row.token) - position_of(key);
  if (task_.op.causal && back < 0) return false;
  if (task_.op.window > 0 && task_.op.chunked && position_of(row.token) / task_.op.window != position_of(key) / task_.op.window) return false;
  return (task_.op.window == 0 || back < task_.op.window) && (task_.op.entry_tokens > 0 || is_chosen(row, key));
}

bool OnlineAttention::sees_entry(const Row& row, std::int64_t key) const {
  if (request_of(row.token) != request_of(key) || position_of(key) > position_of(row.token)) return false;
  return (position_of(key) + 1) % task_.op.entry_tokens == 0 && is_chosen(row, key);
}

// Index of the local head of `k` that query head `head` reads.
std::int64_t OnlineAttention::key_head(const LocalArray& k, std::int64_t head) const {
  if (!k.has(Dim::kKvHeads) && !k.has(Dim::kHeads)) return 0;
  const bool grouped = k.has(Dim::kKvHeads);
  const std::int64_t wanted = grouped ? head * task_.kv_heads / task_.q_heads : head;
  const auto& held = k.ids(grouped ? Dim::kKvHeads : Dim::kHeads);
  const auto it = std::find(held.begin(), held.end(), wanted);
  if (it == held.end()) throw InternalError("query head " + std::to_string(head) + " without its KV head");
  return it - held.begin();
}

void OnlineAttention::take(Row& row, float score, const float* value) {
  if (score > row.most) {
    const float fade = row.most == kNothing ? 0.0F : std::exp(row.most - score);
    row.sum *= fade;
    for (float& a : row.acc) a *= fade;
    row.most = score;
  }
  const float weight = std::exp(score - row.most);
  row.sum += weight;
  if (value == nullptr) return;
  for (std::size_t c = 0; c < row.acc.size(); ++c) row.acc[c] += weight * value[c];
}

void OnlineAttention::add(const LocalArray& k, const LocalArray& v) { take_keys(k, v, &OnlineAttention::sees); }

void OnlineAttention::add_entries(const LocalArray& entries) { take_keys(entries, entries, &OnlineAttention::sees_entry); }

void OnlineAttention::take_keys(const LocalArray& k, const LocalArray& v, Seen seen) {
  const auto& keys = k.dims.front().ids;
  if (keys.empty()) return;
  ensure(v.dims.front().ids == keys, "K and V hold different positions");
  const std::int64_t k_heads = k.rows() / static_cast<std::int64_t>(keys.size());
  const std::int64_t v_heads = v.rows() / static_cast<std::int64_t>(keys.size());
  ensure(k_heads == v_heads && k.columns() == task_.op.qk_dim && v.columns() >= task_.op.v_dim, "K and V of other shapes");
  std::unordered_map<std::int64_t, std::vector<std::pair<std::size_t, std::size_t>>> stretches;   // of each request
  for (std::size_t first = 0, end = 0; first < keys.size(); first = end) {
    for (end = first + 1; end < keys.size() && request_of(keys[end]) == request_of(keys[first]);) ++end;
    stretches[request_of(keys[first])].emplace_back(first, end);
  }
  for (Row& row : rows_) {
    const auto own = stretches.find(request_of(row.token));
    if (own == stretches.end()) {
      static_cast<void>(key_head(k, row.head));   // its absence is an error all the same
      continue;
    }
    for (const auto& [first, end] : own->second) attend(row, k, v, {first, end, seen});
  }
}

void OnlineAttention::attend(Row& row, const LocalArray& k, const LocalArray& v, const Stretch& stretch) const {
  const auto& keys = k.dims.front().ids;
  const std::int64_t heads = k.rows() / static_cast<std::int64_t>(keys.size());
  const std::int64_t head = key_head(k, row.head);
  const std::int64_t k_columns = k.columns();
  const std::int64_t v_columns = v.columns();
  const float* q = q_.values.data() + row.q;
  for (std::size_t i = stretch.first; i < stretch.end; ++i) {
    if (!(this->*stretch.seen)(row, keys[i])) continue;
    const std::int64_t at = static_cast<std::int64_t>(i) * heads + head;
    const float score = dot_product(q, k.values.data() + at * k_columns, task_.op.qk_dim);
    take(row, score * static_cast<float>(task_.op.score_scale), v.values.data() + at * v_columns);
  }
}

void OnlineAttention::add_sinks(const std::vector<float>& logits) {
  for (std::size_t i = 0; i < rows_.size(); ++i) take(rows_[i], logits[i % local_heads_], nullptr);
}

void OnlineAttention::finish(LocalArray& out) const {
  const std::size_t width = static_cast<std::size_t>(task_.op.v_dim);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const bool any = row.most != kNothing;
    for (std::size_t c = 0; c < width; ++c) out.values[i * width + c] = any ? row.acc[c] / row.sum : 0.0F;
    if (!out.lse.empty()) out.lse[i] = any ? row.most + std::log(row.sum) : kNothing;
  }
}

}  // namespace shardplan
