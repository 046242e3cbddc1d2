#include "calibrate/doctor/diagnose.h"

#include <sstream>

#include "base/errors.h"

namespace shardplan {
namespace {

// Of variables that the log says are set, those that force a choice.
std::vector<Finding> variable_findings(const NcclLog& log) {
  std::vector<Finding> findings;
  for (const NcclVariable& variable : nccl_variables()) {
    const auto set = log.variables.find(variable.name);
    if (set == log.variables.end() || std::string(variable.warning).empty()) continue;
    findings.push_back({"variable_" + set->first, FindingKind::kWarning, 2, variable.warning, set->first + " = " + set->second + ": " + variable.meaning,
                        std::string("unset ") + variable.name + " and measure again"});
  }
  return findings;
}

}  // namespace

SysfsDump read_sysfs(std::string_view text, const std::string& where) {
  SysfsDump dump;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("/")) continue;
    const std::size_t colon = line.rfind(':');   // addresses of PCI hold some, too, but in the path alone
    const bool valued = colon != std::string::npos && line.find('/', colon) == std::string::npos;
    dump.values[line.substr(0, valued ? colon : line.size())] = valued ? line.substr(colon + 1) : "";
  }
  if (dump.values.empty()) throw InputError(where, "holds no path of /sys", "lines PATH:VALUE, as grep . FILES prints them");
  return dump;
}

std::vector<Finding> diagnose(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (int step = 1; step <= 4; ++step) {
    for (const DoctorRule& rule : doctor_rules()) {
      if (rule.step != step) continue;
      const std::string seen = rule.seen(evidence);
      if (!seen.empty()) findings.push_back({rule.id, rule.kind, rule.step, rule.symptom, seen, rule.next});
    }
    if (step == 2 && evidence.log) {
      for (Finding& finding : variable_findings(*evidence.log)) findings.push_back(std::move(finding));
    }
  }
  for (const SymptomRow& row : symptom_rows()) {
    if (evidence.symptom == row.name) findings.push_back({row.name, FindingKind::kAdvice, 4, row.symptom, row.cause, row.look_at});
  }
  return findings;
}

}  // namespace shardplan
