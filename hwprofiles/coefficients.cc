// Which row of coefficients answers for a kernel or a collective.
#include "hwprofiles/profile.h"

namespace shardplan {

const KernelCoefficients& kernel_coefficients(const HardwareProfile& profile, const std::string& family,
                                              const std::string& format) {
  static const KernelCoefficients kFallback;
  for (const std::string& key : {family + "." + std::string(row_format(format)), family, std::string("default")}) {
    if (const auto row = profile.kernels.find(key); row != profile.kernels.end()) return row->second;
  }
  return kFallback;
}

const CollectiveCoefficients& collective_coefficients(const HardwareProfile& profile, std::string_view kind, std::string_view source) {
  static const CollectiveCoefficients kFallback;
  const std::string_view scope_default = kind.starts_with("inter.") ? "inter.all_reduce" : "all_reduce";
  if (!source.empty()) {
    const auto row = profile.collectives.find(std::string(kind) + "@" + std::string(source));
    if (row != profile.collectives.end()) return row->second;
  }
  for (const std::string_view key : {kind, scope_default}) {
    if (const auto row = profile.collectives.find(key); row != profile.collectives.end()) return row->second;
  }
  return kFallback;
}

}  // namespace shardplan
