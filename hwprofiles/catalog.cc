#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

#include "base/errors.h"
#include "base/file.h"
#include "base/json.h"
#include "base/suggest.h"
#include "hwprofiles/embedded_catalog.h"
#include "hwprofiles/extend.h"
#include "hwprofiles/profile.h"

namespace shardplan {
namespace {

// Names compare without case, and '_' and blanks as '-': "H200_SXM" is h200-sxm.
std::string folded(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (c == '_' || c == ' ') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool answers_to(const EmbeddedProfile& profile, const std::string& wanted) {
  if (folded(profile.name) == wanted) return true;
  std::istringstream aliases{std::string(profile.aliases)};
  for (std::string alias; aliases >> alias;) {
    if (folded(alias) == wanted) return true;
  }
  return false;
}

bool looks_like_file(const std::string& name) {
  if (name.ends_with(".json") || name.find('/') != std::string::npos) return true;
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored);
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const HardwareEntry& entry : hardware_catalog()) names.push_back(entry.name);
  return names;
}

struct HardwareText {
  std::string json;
  std::string where;  // names it in errors
};

HardwareText hardware_text(const std::string& name) {
  if (const EmbeddedProfile* profile = find_embedded_profile(name)) {
    return {std::string(profile->json), "catalog/" + std::string(profile->name) + ".json"};
  }
  if (!looks_like_file(name)) {
    throw InputError("--hardware " + name, "is not a machine in the catalog, nor a file",
                     nearest_hint(name, known_names()));
  }
  return {read_file(name, kMaxJsonBytes), name};
}

}  // namespace

const EmbeddedProfile* find_embedded_profile(std::string_view name) {
  const std::string wanted = folded(name);
  for (const EmbeddedProfile& profile : embedded_profiles()) {
    if (answers_to(profile, wanted)) return &profile;
  }
  return nullptr;
}

const std::vector<HardwareEntry>& hardware_catalog() {
  static const std::vector<HardwareEntry> entries = [] {
    std::vector<HardwareEntry> result;
    for (const EmbeddedProfile& profile : embedded_profiles()) {
      result.push_back({std::string(profile.name), std::string(profile.title)});
    }
    return result;
  }();
  return entries;
}

HardwareProfile load_hardware(const std::string& name) {
  const HardwareText text = hardware_text(name);
  return read_hardware(text.json, text.where);
}

HardwareProfile load_hardware(const std::string& name, const std::string& network_file) {
  const HardwareText text = hardware_text(name);
  const Json network = parse_json(read_file(network_file, kMaxJsonBytes), network_file);
  const Json machine = with_network(parse_json(text.json, text.where), text.where, network, network_file);
  return read_hardware(machine.dump(), network_file);
}

}  // namespace shardplan
