// `calibrate check` for people: a row per configuration with its verdict, then what does not hold.
#pragma once

#include <string>

#include "tools/documents/check_document.h"

namespace shardplan {

[[nodiscard]] std::string check_table(const CheckAnswer& answer);

}  // namespace shardplan
