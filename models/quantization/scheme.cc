#include "models/quantization/scheme.h"

#include "base/errors.h"

namespace shardplan {

const NumberFormat& QuantizationScheme::format_of(std::string_view module, bool linear) const {
  if (kept.matches(module)) return *base;
  for (const QuantizationRule& rule : rules) {
    if ((rule.every_linear && linear) || rule.modules.matches(module)) return *rule.format;
  }
  return *base;
}

const NumberFormat& QuantizationScheme::format_of_linear(std::string_view module) const {
  return format_of(module, true);
}

const NumberFormat& QuantizationScheme::format_of_head(std::string_view module) const {
  return format_of(module, false);
}

}  // namespace shardplan
