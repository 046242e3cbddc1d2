#include "hwprofiles/extend.h"

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/suggest.h"
#include "hwprofiles/embedded_catalog.h"

namespace shardplan {
namespace {

constexpr int kMaxChain = 4;

// Objects that may be merged key by key. What has a source of its own is replaced whole.
bool merges(const Json& base, const Json& patch) {
  return base.is_object() && patch.is_object() && !base.contains("source") && !patch.contains("source");
}

void lay_over(Json& base, const Json& patch) {
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      base.erase(key);
    } else if (base.contains(key) && merges(base[key], value)) {
      lay_over(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

// Rows of coefficients that come from another machine say so: they were not measured on the one that takes them.
void name_origin(Json& profile, const std::string& origin, bool other_device) {
  constexpr std::string_view kTaken = "taken from ";
  for (const char* section : {"kernels", "collectives"}) {
    if (!profile.contains(section)) continue;
    for (auto& [key, row] : profile[section].items()) {
      std::string source = row.value("source", "");
      if (other_device && (row.contains("form") || row.contains("spread")) && !row.contains("transferred_from")) row["transferred_from"] = origin;
      if (!source.starts_with(kTaken)) row["source"] = std::string(kTaken) + origin + ": " + source;
    }
  }
}

Json extended(const Json& document, const std::string& where, int chain) {
  JsonObject object(document, where);
  if (!object.has("extends")) return document;
  const std::string name = object.string("extends");
  const EmbeddedProfile* parent = find_embedded_profile(name);
  if (parent == nullptr) {
    std::vector<std::string> names;
    for (const EmbeddedProfile& profile : embedded_profiles()) names.emplace_back(profile.name);
    throw InputError(object.where("extends"), "\"" + name + "\" is not in the catalog", nearest_hint(name, names));
  }
  if (chain >= kMaxChain)
    throw InputError(object.where("extends"), "is a chain that is too long", "at most four machines");
  const std::string parent_where = "catalog/" + std::string(parent->name) + ".json";
  Json result = extended(parse_json(parent->json, parent_where), parent_where, chain + 1);
  for (const char* own : {"name", "aliases", "title", "note"}) result.erase(own);
  const auto device_name = [](const Json& of) { return of.contains("device") && of["device"].is_object() && of["device"].contains("name") ? of["device"]["name"] : Json(); };
  const Json own_device = device_name(document);
  name_origin(result, std::string(parent->name), !own_device.is_null() && own_device != device_name(result));
  lay_over(result, document);
  return result;
}

}  // namespace

Json with_network(const Json& machine, const std::string& machine_where, const Json& network,
                  const std::string& where) {
  JsonObject object(network, where);
  for (const char* known : {"fabric", "node", "note"}) object.ignore(known);
  object.refuse_unread({"fabric", "node", "note"});
  if (!object.has("fabric") && !object.has("node")) {
    throw InputError(where, "describes no network", "an object with \"fabric\" or \"node\" (hwprofiles/README.md)");
  }
  Json result = extend_profile(machine, machine_where);
  for (const char* section : {"fabric", "node"}) {
    if (object.has(section)) lay_over(result, Json{{section, network[section]}});
  }
  result.erase("extends");
  return result;
}

Json extend_profile(const Json& document, const std::string& where) { return extended(document, where, 0); }

}  // namespace shardplan
