// Tables of other projects, told by their head: InferSim's kernels. Machine, heads and head size are in the file's name.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/measured_table.h"

namespace shardplan {

// "m,k,n,latency_us,mfu" (DeepGEMM, fp8 with block scales), "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu" and
// "dtype,seq_len,latency_us,mfu" (attention, mha_decode_h20_32x8x128.csv).
[[nodiscard]] bool is_foreign_table(const std::string& path);
// InputError naming file, line and column; the table is refused whole.
[[nodiscard]] MeasuredTable read_foreign_table(const std::string& path);
// Tables of one kind, machine, library and release as one.
[[nodiscard]] std::vector<MeasuredTable> merged_alike(std::vector<MeasuredTable> tables);

}  // namespace shardplan
