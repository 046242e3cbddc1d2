// What a rank says when it is told to end: "rank 1 was ended from outside in all_reduce (step 0, node 5)".
#pragma once

#include "calibrate/tamper.h"

namespace shardplan {

// Speaks on SIGTERM, then dies of it.
void speak_last_words(int rank);
// What it would say from now on. Cheap: called for every node.
void note_last_words(const Operation& operation);

}  // namespace shardplan
