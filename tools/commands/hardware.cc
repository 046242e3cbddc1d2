#include "tools/commands/hardware.h"

#include <string>
#include <vector>

#include "hwprofiles/profile.h"
#include "tools/cli/output.h"
#include "tools/documents/hardware_document.h"
#include "tools/tables/hardware_table.h"

namespace shardplan {
namespace {

std::vector<HardwareProfile> whole_catalog() {
  std::vector<HardwareProfile> machines;
  for (const HardwareEntry& entry : hardware_catalog()) machines.push_back(load_hardware(entry.name));
  return machines;
}

}  // namespace

void run_hardware(const Words& words) {
  std::string name;
  Output output;
  const CommandLine line{"shardplan hardware",
                         "Lists the machines that are built in, or shows one with the source of every number: a catalog name or a\n"
                         "JSON file. Rates are dense and per direction.",
                         "shardplan hardware h200-sxm",
                         {output_flags(output)},
                         {{"NAME", "the machine to show; all when left out", false, [&name](const std::string& text) { name = text; }}}};
  if (!parse_command_line(line, words)) return;
  check_output(output);
  const bool one = !name.empty();
  const std::vector<HardwareProfile> machines = one ? std::vector<HardwareProfile>{load_hardware(name)} : whole_catalog();
  deliver(output, [&] { return one ? machine_table(machines.front()) : machines_table(machines); },
          [&] { return hardware_document(machines); });
}

}  // namespace shardplan
