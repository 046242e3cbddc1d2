// Attention with online softmax, one block of keys at a time, driven by absolute positions.
//
// A query (request, position i, head h) sees the keys j of its request with j <= i when causal, and j > i - window when
// windowed (in the same chunk of that size when chunked), and that the selection names. Query head h reads KV head h * kv_heads / q_heads (global indices). After all blocks O = acc / l and
// LSE = m + log l; a rank without any visible key gives O = 0 and LSE = -inf, which merges as nothing. A sink is one more
// logit without a value: it goes into the softmax of one rank only.
#pragma once

#include <vector>

#include "calibrate/local_array.h"
#include "costmodel/logical_graph.h"

namespace shardplan {

struct AttentionTask {
  AttentionOp op;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;   // 0: keys have query heads, or none (shared by all)
  const LocalArray* selection = nullptr;   // [tokens, selected]: the only positions each token sees; -1 fills the row
};

// Attention that is given its keys block by block.
class BlockAttention {
 public:
  virtual ~BlockAttention() = default;
  // Keys and values [tokens or positions, (heads or kv_heads), dim]; with op.shared_kv V is k's first columns.
  // InternalError: "query head without its KV head".
  virtual void add(const LocalArray& k, const LocalArray& v) = 0;
  // Compressed entries, each its own value, in the rows of the last tokens of their blocks: seen when whole, whatever the
  // window, and where there is a selection, when chosen. Keys given to add() are then not chosen among. InternalError where
  // the kernel has none.
  virtual void add_entries(const LocalArray& entries);
  // One more logit per local query head.
  virtual void add_sinks(const std::vector<float>& logits) = 0;
  // O, and LSE where `out` carries it.
  virtual void finish(LocalArray& out) const = 0;
};

class OnlineAttention : public BlockAttention {
 public:
  // Rows are those of `out` ([tokens, heads, v_dim]); `q` holds at least these.
  OnlineAttention(const AttentionTask& task, const LocalArray& q, const LocalArray& out);

  void add(const LocalArray& k, const LocalArray& v) override;
  void add_entries(const LocalArray& entries) override;
  void add_sinks(const std::vector<float>& logits) override;
  void finish(LocalArray& out) const override;

 private:
  struct Row {
    std::int64_t token = 0;   // token_id
    std::int64_t head = 0;    // global
    std::int64_t q = 0;       // offset in q_
    std::int64_t chosen = 0;  // offset in the selection
    float most = 0;           // largest score so far
    float sum = 0;            // of exp(score - most)
    std::vector<float> acc;
  };
  using Seen = bool (OnlineAttention::*)(const Row&, std::int64_t) const;
  // Keys first to end of an array, all of one request.
  struct Stretch {
    std::size_t first = 0;
    std::size_t end = 0;
    Seen seen = nullptr;
  };
  void attend(Row& row, const LocalArray& k, const LocalArray& v, const Stretch& stretch) const;
  [[nodiscard]] bool sees(const Row& row, std::int64_t key) const;
  [[nodiscard]] bool sees_entry(const Row& row, std::int64_t key) const;
  // Keys that satisfy `seen`.
  void take_keys(const LocalArray& k, const LocalArray& v, Seen seen);
  [[nodiscard]] bool is_chosen(const Row& row, std::int64_t key) const;
  [[nodiscard]] std::int64_t key_head(const LocalArray& k, std::int64_t head) const;
  static void take(Row& row, float score, const float* value);

  AttentionTask task_;
  const LocalArray& q_;
  std::size_t local_heads_ = 1;
  std::vector<Row> rows_;
};

}  // namespace shardplan
