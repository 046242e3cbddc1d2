// Gives every layer of a model its number formats.
//
// A family of modules takes the format of its matrices; where they differ (which no engine loads as one
// fused matrix) it takes the widest, and a note says so. Layers that come out differently become kinds
// of their own.
#pragma once

#include "models/families/registry.h"
#include "models/model_spec.h"
#include "models/quantization/scheme.h"

namespace shardplan {

// InputError when the scheme has so many patterns that trying them on every layer would take minutes.
void assign_formats(ModelSpec& model, const ModuleNames& names, const QuantizationScheme& scheme,
                    const std::string& where);

}  // namespace shardplan
