// Recurrent mixers, token by token: short convolution, decay, update of the state, read-out.
//
// Per channel: u_t = silu(sum_i w_i x_{t-W+1+i} (+ bias)) over the last W raw inputs of q, k and v. Per value head h,
// which reads key head h * key_heads / value_heads, with S [key, value]:
//   gated delta       q, k to unit length, q / sqrt(key); a = exp(-exp(A) softplus(decay + dt)), b = sigmoid(beta):
//                     S = a S; S += b k (v - S^T k)^T; y = S^T q.     KDA: one a for each key column.
//   state space       d = softplus(decay + dt), a = exp(-exp(A) d): S = a S + d k v^T; y = S^T q + skip v.
// Sources: Gated DeltaNet, arXiv 2412.06464; Kimi Linear, arXiv 2510.26692; Mamba2, arXiv 2405.21060.
#pragma once

#include "calibrate/local_array.h"
#include "models/model_spec.h"

namespace shardplan {

// Everything of one rank; the tokens of a request are all here, in order.
struct ScanInputs {
  const LocalArray& q;  // [tokens, key heads, key dim]
  const LocalArray& k;
  const LocalArray& v;               // [tokens, value heads, value dim]
  const LocalArray& decay;           // [tokens, value heads(, key dim)]
  const LocalArray* beta = nullptr;  // [tokens, value heads]
  const LocalArray& conv_k;  // [key heads, 2 key dim taps]: q's channels, then k's; a bias is one tap more, the last
  const LocalArray& conv_v;  // [value heads, value dim taps]
  const LocalArray& head;    // [value heads, (dt per key column | dt), A, skip]: see scan.cc
};

// Before and after: one row per request.
struct ScanState {
  LocalArray state;   // [requests, value heads, key dim * value dim]
  LocalArray conv_k;  // [requests, key heads, 2 key dim (W-1)]: the oldest input first
  LocalArray conv_v;  // [requests, value heads, value dim (W-1)]
};

// Fills `y` ([tokens, value heads, value dim]) and advances `state`.
void scan(const ScanInputs& inputs, const RecurrentSpec& spec, ScanState& state, LocalArray& y);

}  // namespace shardplan
