// The machine of a request: its fabric and the collective prices on it, made once and shared by all configurations.
#pragma once

#include <cstdint>

#include "costmodel/collective_pricer.h"
#include "hwprofiles/fabric.h"
#include "planner/deployment.h"
#include "planner/plan.h"

namespace shardplan {

class Cluster {
 public:
  // Of at least `gpus` devices. `request` must outlive it.
  Cluster(const PlanRequest& request, std::int64_t gpus)
      : fabric_(request.hardware, gpus),
        collectives_(request.hardware, fabric_, request.price.mode, true, kernel_options(request)) {}
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] const CollectivePricer& collectives() const { return collectives_; }

 private:
  Fabric fabric_;
  CollectivePricer collectives_;
};

}  // namespace shardplan
