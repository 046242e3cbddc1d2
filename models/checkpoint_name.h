// What a checkpoint's name says of it, for those that the catalog does not list: "Qwen/Qwen3-32B-FP8" has the sizes of
// qwen3-32b and weights in fp8_block.
#pragma once

#include <optional>
#include <string>

#include "models/catalog.h"
#include "models/number_format.h"

namespace shardplan {

struct CheckpointName {
  const CatalogEntry* entry = nullptr;
  const NumberFormat* weights = nullptr;  // that the name ends in; nullptr: the entry's own
};

// Endings are dropped until a name of the catalog is left, with or without its organisation: formats ("-FP8", "-AWQ",
// "-w4a16"), tunings ("-Instruct", "-Thinking"), dates ("-2507"), versions ("-v0.1") and point releases ("V3.1"). "-FP8"
// is fp8_block where the organisation is the model's maker, one scale per tensor elsewhere. nullopt when none is left,
// and for what can only be a path ("./qwen3-32b", "/data/Qwen3-32B-FP8").
[[nodiscard]] std::optional<CheckpointName> find_checkpoint(const std::string& name);

}  // namespace shardplan
