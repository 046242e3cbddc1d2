// Reads a published config.json: family, sizes, formats and what it leaves unsaid.
//
// Beside the keys of Hugging Face it knows three of ours: "hf_id", "aliases" and "notes" (a list of
// sentences), which the shipped models use. Anything else that is unknown and could change a size
// becomes a note.
#pragma once

#include <string>
#include <string_view>

#include "models/model_spec.h"

namespace shardplan {

// `quantization` is the text of a hf_quant_config.json, or empty; `where` names the file in errors.
// InputError for anything that is not a model of a known family with sane sizes.
[[nodiscard]] ModelSpec read_model_config(std::string_view config, std::string_view quantization,
                                          const std::string& where);

}  // namespace shardplan
