#include "planner/export/read_yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostArguments = 10'000;  // aliases can stand for any number of nodes
constexpr int kDeepest = 32;

void flatten(const YAML::Node& node, const std::string& name, int depth, Arguments& out) {
  if (depth > kDeepest || out.list().size() > kMostArguments)
    throw InputError("yaml", "nests too deep or holds too much", "a file of keys and values");
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string key = entry.first.as<std::string>();
      flatten(entry.second, name.empty() ? key : name + "." + key, depth + 1, out);
    }
    return;
  }
  if (!node.IsSequence()) {
    out.set(name, node.IsNull() ? std::string() : node.as<std::string>());
    return;
  }
  std::string list;
  for (const auto& element : node) list += (list.empty() ? "" : ",") + element.as<std::string>();
  out.set(name, list);
}

std::string scalar(const YAML::Node& node) { return node && node.IsScalar() ? node.as<std::string>() : std::string(); }

std::int64_t count(const YAML::Node& node) {
  const std::string text = scalar(node);
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos
             ? std::stoll(text)
             : 0;
}

class ManifestReader {
 public:
  ReadManifest read(const std::vector<YAML::Node>& documents) {
    bool found = false;
    for (const YAML::Node& document : documents) {
      const std::string kind = document.IsMap() ? scalar(document["kind"]) : "";
      require(!scalar(document["metadata"]["name"]).empty(), "a document without metadata.name");
      if (kind == "LeaderWorkerSet") {
        found = true;
        read_set(document);
      } else if (kind == "ConfigMap") {
        out_.config = scalar(document["data"]["config.yaml"]);
      } else {
        require(kind == "Service", fmt::format("a document of kind '{}'", kind));
      }
    }
    require(found, "no LeaderWorkerSet");
    return std::move(out_);
  }

 private:
  void require(bool holds, const std::string& fault) {
    if (!holds) out_.faults.push_back(fault);
  }

  void read_set(const YAML::Node& set) {
    require(scalar(set["apiVersion"]) == "leaderworkerset.x-k8s.io/v1",
            "apiVersion is not leaderworkerset.x-k8s.io/v1");
    const YAML::Node spec = set["spec"];
    out_.replicas = count(spec["replicas"]);
    const YAML::Node pods = spec["leaderWorkerTemplate"];
    out_.nodes = count(pods["size"]);
    require(out_.replicas > 0, "spec.replicas is missing");
    require(out_.nodes > 0, "spec.leaderWorkerTemplate.size is missing");
    for (const char* role : {"leaderTemplate", "workerTemplate"}) read_pod(pods[role], role);
  }

  void read_pod(const YAML::Node& pod, const std::string& role) {
    require(pod && pod["spec"]["containers"].IsSequence() && pod["spec"]["containers"].size() == 1,
            role + " needs one container");
    if (!pod || !pod["spec"]["containers"].IsSequence() || pod["spec"]["containers"].size() != 1) return;
    const YAML::Node container = pod["spec"]["containers"][0];
    require(!scalar(container["image"]).empty(), role + " names no image");
    out_.gpus = count(container["resources"]["limits"]["nvidia.com/gpu"]);
    require(out_.gpus > 0, role + " asks for no nvidia.com/gpu");
    require(container["args"].IsSequence() && container["args"].size() == 1, role + " needs one script in args");
    if (container["args"].IsSequence() && container["args"].size() == 1)
      out_.scripts.push_back(scalar(container["args"][0]));
    for (const auto& mount : container["volumeMounts"]) {
      bool known = false;
      for (const auto& volume : pod["spec"]["volumes"])
        known = known || scalar(volume["name"]) == scalar(mount["name"]);
      require(known, fmt::format("{} mounts '{}', which is no volume", role, scalar(mount["name"])));
    }
  }

  ReadManifest out_;
};

// yaml-cpp's own exceptions as ours.
template <class Read>
auto guarded(const std::string& file, Read read) {
  try {
    return read();
  } catch (const YAML::Exception& error) {
    throw InputError(file, std::string("no YAML of this kind: ") + error.what(), "");
  }
}

}  // namespace

Arguments read_yaml_arguments(const std::string& text, const std::string& file) {
  return guarded(file, [&] {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) throw InputError(file, "holds no mapping", "key: value lines");
    Arguments out;
    flatten(root, "", 0, out);
    return out;
  });
}

ReadManifest read_manifest(const std::string& text, const std::string& file) {
  return guarded(file, [&] { return ManifestReader().read(YAML::LoadAll(text)); });
}

}  // namespace shardplan
