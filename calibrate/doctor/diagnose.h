// What is wrong with a fabric: rules over what the machine says of itself and what was measured.
//
// Four steps, in order: the physical topology; what NCCL makes of it; the collectives alone; the application's messages.
// Each rule is a row: id, step, symptom, what would show it, what to run next.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/doctor/nccl_log.h"
#include "calibrate/doctor/topology.h"
#include "calibrate/records/record.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// Where a device of /sys/class lies, from `grep . /sys/class/infiniband/*/device/numa_node` and the like: one "PATH:VALUE" a line, or
// a path alone, which is there.
struct SysfsDump {
  std::map<std::string, std::string> values;   // by path
};
// InputError naming `where` when no line is a path.
[[nodiscard]] SysfsDump read_sysfs(std::string_view text, const std::string& where);

struct Evidence {
  std::optional<Topology> topology;
  std::optional<NcclLog> log;
  std::optional<SysfsDump> sysfs;
  std::vector<Record> collectives;               // measured; ranks' own times as field "rank"
  const HardwareProfile* hardware = nullptr;     // what would be right; nullptr: not known
  std::string symptom;                           // asked about; "" none
};

enum class FindingKind { kProblem, kWarning, kAdvice };

struct Finding {
  std::string rule;
  FindingKind kind = FindingKind::kProblem;
  int step = 1;                // 1 to 4
  std::string symptom;
  std::string evidence;        // what was seen, with numbers
  std::string next;            // command to run, or variable to look at
};

struct DoctorRule {
  const char* id;
  FindingKind kind;
  int step;
  const char* symptom;
  const char* next;
  std::string (*seen)(const Evidence&);   // "" when the rule does not apply
};
[[nodiscard]] const std::vector<DoctorRule>& doctor_rules();

struct SymptomRow {
  const char* name;        // "small_message_latency", ...
  const char* symptom;
  const char* cause;
  const char* look_at;
};
[[nodiscard]] const std::vector<SymptomRow>& symptom_rows();

struct NcclVariable {
  const char* name;
  const char* meaning;
  const char* warning;     // when it is set; "" harmless
};
[[nodiscard]] const std::vector<NcclVariable>& nccl_variables();

// In the order of the steps.
[[nodiscard]] std::vector<Finding> diagnose(const Evidence& evidence);

}  // namespace shardplan
