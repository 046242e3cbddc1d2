// Which elements each rank sends to each other rank of its group, and where they land: derived from the layouts
// before and after a node, the same on both sides.
//
// Every element that a receiver needs has one owner per part of a reduced value: the receiver itself if it holds it, else
// the first rank of the group that does (KV heads held twice). Every part travels padded to the largest of the node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/local_array.h"
#include "costmodel/mesh.h"

namespace shardplan {

// Element offsets in the sender's and the receiver's arrays.
struct Move {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

struct Transfer {
  std::vector<std::vector<int>> group;                 // of each rank, ascending, itself included
  std::vector<std::vector<std::vector<Move>>> moves;   // [receiver][index of sender in its group]
  std::int64_t part = 0;                               // elements of the largest part

  [[nodiscard]] const std::vector<Move>& between(int sender, int receiver) const;
};

struct TransferRequest {
  const Mesh& mesh;
  DigitSet group;
  DigitSet reduced;               // digits whose partial values are combined: one owner for each coordinate
  std::vector<LocalDims> before;  // of each rank
  std::vector<LocalDims> after;
  std::string what;               // for errors
};

// InternalError naming the rank and element that nobody in the group can give.
[[nodiscard]] Transfer plan_transfer(const TransferRequest& request);

}  // namespace shardplan
