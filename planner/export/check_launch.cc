#include "planner/export/check_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "base/suggest.h"
#include "costmodel/lowering/registry.h"
#include "planner/engine.h"
#include "planner/export/read_script.h"
#include "planner/export/read_yaml.h"

namespace shardplan {
namespace {

// The first word of "vllm serve *".
std::string first_word(const char* program) {
  const std::string_view words(program);
  return std::string(words.substr(0, words.find(' ')));
}

bool matches(std::string_view pattern, const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (!pattern.empty()) {
    const std::size_t space = pattern.find(' ');
    const std::string_view word = pattern.substr(0, space);
    if (at == words.size() || (word != "*" && word != words[at])) return false;
    ++at;
    pattern.remove_prefix(space == std::string_view::npos ? pattern.size() : space + 1);
  }
  return at == words.size();
}

bool is_manifest(const LaunchFile& file) { return file.name.ends_with("-lws.yaml"); }
bool is_script(const LaunchFile& file) { return file.name.ends_with(".sh"); }

class Checker {
 public:
  Checker(const LaunchCheck& check, const std::vector<LaunchFile>& files)
      : check_(check), exporter_(require_exporter(check.engine)), files_(files) {}

  std::vector<LaunchFinding> run() {
    Arguments config;
    for (const LaunchFile& file : files_) {
      if (!is_script(file) && !is_manifest(file)) config.append(read_config(file.content, file.name));
    }
    for (const LaunchFile& file : files_) {
      if (is_script(file)) read_one(file.content, file.name, config);
      if (is_manifest(file)) read_set(file);
    }
    return std::move(findings_);
  }

 private:
  void find(const std::string& file, std::string message) { findings_.push_back({file, std::move(message)}); }

  Arguments read_config(const std::string& text, const std::string& file) {
    Arguments config = read_yaml_arguments(text, file);
    check_flags(config, FlagPlace::kConfig, file);
    return config;
  }

  void check_flags(const Arguments& arguments, FlagPlace place, const std::string& file) {
    std::map<std::string, int> seen;
    for (const EngineArgument& argument : arguments.list()) {
      if (++seen[argument.name] == 2) find(file, argument.name + " is given twice");
      check_flag(argument, place, file);
    }
  }

  void check_flag(const EngineArgument& argument, FlagPlace place, const std::string& file) {
    std::vector<std::string> names;
    for (const FlagRow& row : exporter_.flags()) {
      if (row.place != place) continue;
      names.emplace_back(row.name);
      if (argument.name != row.name) continue;
      if (!row.versions.contains(check_.version))
        return find(file, fmt::format("{} {} has no {}", check_.engine, check_.version, argument.name));
      const std::string fault = flag_fault(row, argument);
      if (!fault.empty()) find(file, fault);
      return;
    }
    find(file, fmt::format("{} knows no {}; {}", check_.engine, argument.name, nearest_hint(argument.name, names)));
  }

  void read_one(const std::string& text, const std::string& file, const Arguments& config) {
    const ReadScript script = read_script(text, first_word(exporter_.program), file);
    for (const std::string& fault : script.faults) find(file, fault);
    if (!matches(exporter_.program, script.program))
      find(file, fmt::format("the command does not start with {}", exporter_.program));
    check_flags(script.command, FlagPlace::kCommand, file);
    check_flags(script.environment, FlagPlace::kEnvironment, file);
    Arguments all = script.command;
    all.append(script.environment);
    all.append(config);
    for (const std::string& conflict : exporter_.conflicts(all)) find(file, conflict);
    check_configuration(all, file);
  }

  void check_configuration(const Arguments& all, const std::string& file) {
    const ParallelConfig config = exporter_.read(all, check_.model);
    std::vector<Violation> violations = check_config(check_.model, config);
    if (violations.empty()) {
      const Engine& engine = require_engine(check_.engine);
      violations = engine.check(check_.model, config, check_.hardware, check_.version, check_.role);
    }
    for (const Violation& violation : violations) find(file, violation.message);
    gpus_ = config.instance_gpus();
  }

  void read_set(const LaunchFile& file) {
    const ReadManifest set = read_manifest(file.content, file.name);
    for (const std::string& fault : set.faults) find(file.name, fault);
    const Arguments config = set.config.empty() ? Arguments() : read_config(set.config, file.name);
    for (const std::string& script : set.scripts) {
      const bool listens = script.find("sshd -D") != std::string::npos;  // a worker under MPI
      if (!listens) read_one(script, file.name, config);
    }
    if (set.nodes * set.gpus != gpus_)
      find(file.name,
           fmt::format("{} pods of {} GPUs are not the {} that the command uses", set.nodes, set.gpus, gpus_));
  }

  const LaunchCheck& check_;
  const Exporter& exporter_;
  const std::vector<LaunchFile>& files_;
  std::vector<LaunchFinding> findings_;
  std::int64_t gpus_ = 0;
};

}  // namespace

std::vector<LaunchFinding> check_launch(const LaunchCheck& check, const std::vector<LaunchFile>& files) {
  return Checker(check, files).run();
}

Arguments read_launch(const Exporter& exporter, const std::vector<LaunchFile>& files) {
  Arguments all;
  for (const LaunchFile& file : files) {
    if (is_manifest(file)) continue;
    if (!is_script(file)) {
      all.append(read_yaml_arguments(file.content, file.name));
      continue;
    }
    const ReadScript script = read_script(file.content, first_word(exporter.program), file.name);
    all.append(script.command);
    all.append(script.environment);
  }
  return all;
}

}  // namespace shardplan
