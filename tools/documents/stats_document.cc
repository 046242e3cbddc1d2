#include "tools/documents/stats_document.h"

#include <nlohmann/json.hpp>

namespace shardplan {

Document stats_document(const ErrorStats& stats, const char* counted) {
  Document out = {{counted, stats.count},
                  {"mean_ape", stats.mean_ape},
                  {"median_ape", stats.median_ape},
                  {"p90_ape", stats.p90_ape},
                  {"bias_median", stats.bias_median}};
  if (stats.interval_coverage) out["interval_coverage"] = *stats.interval_coverage;
  return out;
}

}  // namespace shardplan
