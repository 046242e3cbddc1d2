// A hook for mutation tests: spoils what travels between ranks, to show that the proof notices.
#pragma once

#include <vector>

namespace shardplan {

struct DropRule;   // calibrate/kernels/moe.h

// What a rank is doing, for errors and counters.
struct Operation {
  int step = -1;                 // which graph of the run
  int node = -1;                 // index into its nodes; -1: a stage boundary
  const char* name = "nothing";  // node_kind_name

  friend bool operator==(const Operation& a, const Operation& b) { return a.step == b.step && a.node == b.node; }
};

enum class Payload { kValues, kLse };

class Tamper {
 public:
  virtual ~Tamper() = default;
  // Whose part of the weights a rank of a stage takes for its own, where the shapes allow it.
  virtual int weights_of(int rank) { return rank; }
  // May change what rank `from` sends.
  virtual void on_send(const Operation&, Payload, int /*from*/, int /*to*/, std::vector<float>& /*values*/) {}
  // May change which picks a rank of a stage drops (capacity factor).
  virtual void on_drop(int /*rank*/, DropRule&) {}
  // To whom a message for `to` really goes; a permutation of a rank's peers within one operation.
  virtual int destination(const Operation&, int /*from*/, int to) { return to; }
  // Whose buffer rank `to` takes for `from`'s; a permutation too.
  virtual int origin(const Operation&, int /*to*/, int from) { return from; }
};

}  // namespace shardplan
