// The document of `calibrate check`.
#pragma once

#include <string>
#include <vector>

#include "calibrate/check/run_check.h"

namespace shardplan {

struct CheckAnswer {
  std::string backend;
  std::string storage;
  std::int64_t ranks = 0;       // at most
  std::int64_t processes = 1;   // that the ranks lie in
  bool messages_between_devices = false;   // over NCCL, not through the host
  std::vector<CheckRow> rows;
};

[[nodiscard]] std::string check_document(const CheckAnswer& answer);

}  // namespace shardplan
