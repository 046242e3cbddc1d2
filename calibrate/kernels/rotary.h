// Rotary embedding of the last `columns` columns, by absolute position.
//
// Columns i and i + columns/2 turn by position * 10000^(-2i/columns). An odd last column stays.
#pragma once

#include "calibrate/local_array.h"

namespace shardplan {

inline constexpr double kRotaryBase = 10000.0;

void rotary(const LocalArray& x, std::int64_t columns, LocalArray& out);

}  // namespace shardplan
