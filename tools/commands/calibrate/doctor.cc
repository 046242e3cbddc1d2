#include "tools/commands/calibrate/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/file.h"
#include "base/input_limit.h"
#include "base/suggest.h"
#include "calibrate/doctor/diagnose.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/documents/document.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "Says what is wrong with a fabric, from what it says of itself: the topology (nvidia-smi topo -m), adapters and modules\n"
    "(grep . /sys/class/infiniband/*/device/numa_node; ls -d /sys/module/nvidia_peermem), NCCL's log (NCCL_DEBUG=INFO), and collectives\n"
    "that were measured. Four steps, in order: topology, NCCL, collectives alone, messages of the application.";


struct DoctorFlags {
  std::string topology, log, sysfs, records, hardware, symptom;
};

Evidence evidence_of(const DoctorFlags& flags, std::optional<HardwareProfile>& hardware) {
  Evidence evidence{.symptom = flags.symptom};
  if (!flags.topology.empty()) evidence.topology = read_topology(read_file(flags.topology, kMostInputBytes), flags.topology);
  if (!flags.log.empty()) evidence.log = read_nccl_log(read_file(flags.log, kMostInputBytes), flags.log);
  if (!flags.sysfs.empty()) evidence.sysfs = read_sysfs(read_file(flags.sysfs, kMostInputBytes), flags.sysfs);
  if (!flags.records.empty()) {
    evidence.collectives = read_records(flags.records).records;
    std::erase_if(evidence.collectives, [](const Record& record) { return !record.is_collective(); });
    if (evidence.collectives.empty()) throw InputError(flags.records, "no message between ranks is among the records", "calibrate run with --tp above 1");
  }
  if (!flags.hardware.empty()) evidence.hardware = &hardware.emplace(load_hardware(flags.hardware));
  return evidence;
}

const char* kind_name(FindingKind kind) {
  return kind == FindingKind::kProblem ? "problem" : kind == FindingKind::kWarning ? "warning" : "advice";
}

std::string text_of_findings(const std::vector<Finding>& findings) {
  constexpr const char* kSteps[] = {"", "topology", "what NCCL makes of it", "collectives alone", "the application's messages"};
  std::string text;
  for (const Finding& f : findings) {
    text += fmt::format("{} [{}] {} (step {}: {})\n    seen: {}\n    next: {}\n", kind_name(f.kind), f.rule, f.symptom, f.step, kSteps[f.step], f.evidence, f.next);
  }
  return text.empty() ? "Nothing found in what was given.\n" : text;
}

std::string document_of(const std::vector<Finding>& findings) {
  Document document = {{"schema", "shardplan.calibrate-doctor/1"}};
  document["findings"] = Document::array();
  for (const Finding& f : findings) {
    document["findings"].push_back({{"rule", f.rule}, {"kind", kind_name(f.kind)}, {"step", f.step}, {"symptom", f.symptom}, {"evidence", f.evidence}, {"next", f.next}});
  }
  document["run"] = run_document();
  return text_of(document);
}

Flag symptom_flag(std::string& target) {
  std::vector<std::string> names;
  for (const SymptomRow& row : symptom_rows()) names.emplace_back(row.name);
  auto store = [names, &target](const std::string& text) { target = names[parse_choice(text, "--symptom", names)]; };
  return {"--symptom", joined_names(names), "what is felt: its usual cause and where to look", std::move(store)};
}

}  // namespace

void run_calibrate_doctor(const Words& words) {
  DoctorFlags flags;
  Output output;
  CommandLine line{"shardplan calibrate doctor", kHelp, "shardplan calibrate doctor --symptom decode_slow", {}, {}};
  line.groups.push_back({"Evidence",
                         {text_flag("--topology", "FILE", "output of nvidia-smi topo -m", flags.topology),
                          text_flag("--nccl-log", "FILE", "log of a run with NCCL_DEBUG=INFO", flags.log),
                          text_flag("--sysfs", "FILE", "lines PATH:VALUE of /sys", flags.sysfs),
                          text_flag("--records", "FILE", "collectives that calibrate run measured", flags.records),
                          text_flag("--hardware", "NAME", "what the machine should be", flags.hardware), symptom_flag(flags.symptom)}});
  line.groups.push_back(output_flags(output));
  if (!parse_command_line(line, words)) return;
  check_output(output);
  if (flags.topology.empty() && flags.log.empty() && flags.sysfs.empty() && flags.records.empty() && flags.symptom.empty()) {
    throw InputError("calibrate doctor", "is given no evidence", "--topology, --nccl-log, --sysfs, --records or --symptom");
  }
  std::optional<HardwareProfile> hardware;
  const auto findings = diagnose(evidence_of(flags, hardware));
  deliver(output, [&] { return text_of_findings(findings); }, [&] { return document_of(findings); });
}

}  // namespace shardplan
