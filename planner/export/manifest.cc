#include "planner/export/manifest.h"

#include <fmt/format.h>

#include "planner/deployment.h"
#include "planner/export/placement.h"
#include "planner/export/script.h"
#include "planner/export/shell.h"
#include "planner/export/yaml.h"

namespace shardplan {
namespace {

constexpr int kScriptIndent = 18;

std::string pod_environment() {
  return R"(              env:
                - name: "NODE"
                  valueFrom:
                    fieldRef:
                      fieldPath: "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"
                - name: "HF_TOKEN"
                  valueFrom:
                    secretKeyRef:
                      name: "hf-token"
                      key: "token"
                      optional: true
)";
}

std::string start_of_script(const EngineLaunch& engine) {
  std::string text = "set -euo pipefail\n";
  if (!engine.under_mpi) text += "MASTER_ADDR=\"$LWS_LEADER_ADDRESS\"\n";
  text += fmt::format("PORT={}\n", kFirstPort);
  if (!engine.config.empty()) text += "CONFIG=/config/config.yaml\n";
  return text + environment_text(engine);
}

// Every pod runs the same command; what differs is in NODE.
std::string node_script(const EngineLaunch& engine) {
  std::string text = start_of_script(engine);
  if (engine.worker_flags.empty()) return text + "exec " + command_text(engine, "", false) + "\n";
  text += fmt::format("WORKER=()\nif [ \"$NODE\" -gt 0 ]; then WORKER=({}); fi\n", engine.worker_flags.front());
  return text + "exec " + command_text(engine, "\"${WORKER[@]}\"", false) + "\n";
}

// Pods of a group are <leader>, <leader>-1, <leader>-2, ..: the leader's name is the first label of its address.
std::string mpi_leader_script(const EngineLaunch& engine, std::int64_t ranks, std::int64_t per_node) {
  std::string text = start_of_script(engine);
  text += "LEADER=${LWS_LEADER_ADDRESS%%.*}\nDOMAIN=${LWS_LEADER_ADDRESS#*.}\n";
  text += fmt::format("HOSTS=$LWS_LEADER_ADDRESS:{}\n", per_node);
  text += fmt::format("for i in $(seq 1 $((LWS_GROUP_SIZE - 1))); do HOSTS+=,$LEADER-$i.$DOMAIN:{}; done\n", per_node);
  text += "mkdir -p ~/.ssh && cp /ssh-keys/* ~/.ssh/ && chmod 600 ~/.ssh/*\n/usr/sbin/sshd\n";
  text +=
      "for host in ${HOSTS//,/ }; do until ssh -o StrictHostKeyChecking=no \"${host%:*}\" true; do sleep 2; done; "
      "done\n";
  return text + "exec " + mpi_prefix(engine, ranks) + command_text(engine, "", false) + "\n";
}

std::string container(const EngineLaunch& engine, const std::string& script, std::int64_t gpus, bool serves) {
  std::string text = fmt::format("            - name: \"server\"\n              image: {}\n", yaml_text(engine.image));
  text += "              command: [\"bash\", \"-c\"]\n              args:\n                - |\n" +
          yaml_block(script, kScriptIndent);
  text += pod_environment();
  text +=
      fmt::format("              resources:\n                limits:\n                  nvidia.com/gpu: {}\n", gpus);
  if (serves) {
    text += fmt::format(
        "              ports:\n                - containerPort: {0}\n              readinessProbe:\n                "
        "tcpSocket:\n"
        "                  port: {0}\n                periodSeconds: 10\n                failureThreshold: 360\n",
        kFirstPort);
  }
  text += "              volumeMounts:\n                - name: \"shm\"\n                  mountPath: \"/dev/shm\"\n";
  if (!engine.config.empty()) text += "                - name: \"config\"\n                  mountPath: \"/config\"\n";
  if (engine.under_mpi) text += "                - name: \"ssh\"\n                  mountPath: \"/ssh-keys\"\n";
  return text;
}

std::string pod(const EngineLaunch& engine, const std::string& name, const char* role, const std::string& script,
                std::int64_t gpus) {
  const bool serves = std::string_view(role) == "leader";
  std::string text =
      fmt::format("    {}Template:\n      metadata:\n        labels:\n          app: {}\n          role: {}\n", role,
                  yaml_text(name), yaml_text(role));
  text += "      spec:\n        containers:\n";
  std::string indented = container(engine, script, gpus, serves);
  // The container is written four blanks deeper than it stands here.
  std::string lines;
  for (std::size_t at = 0; at < indented.size();) {
    const std::size_t end = indented.find('\n', at);
    const std::string line = indented.substr(at, end - at);
    lines += (line.size() > 2 && line.starts_with("  ") ? line.substr(2) : line) + "\n";
    at = end + 1;
  }
  text += lines;
  text += "        volumes:\n          - name: \"shm\"\n            emptyDir:\n              medium: \"Memory\"\n";
  if (!engine.config.empty())
    text += fmt::format("          - name: \"config\"\n            configMap:\n              name: {}\n",
                        yaml_text(name + "-config"));
  if (engine.under_mpi)
    text += fmt::format(
        "          - name: \"ssh\"\n            secret:\n              secretName: {}\n              defaultMode: "
        "384\n",
        yaml_text(name + "-ssh"));
  return text;
}

std::string config_map(const EngineLaunch& engine, const std::string& name) {
  if (engine.config.empty()) return "";
  return fmt::format("---\napiVersion: \"v1\"\nkind: \"ConfigMap\"\nmetadata:\n  name: {}\ndata:\n  config.yaml: |\n{}",
                     yaml_text(name + "-config"), yaml_block(yaml_mapping(engine.config), 4));
}

std::string service(const std::string& name) {
  return fmt::format(
      "---\napiVersion: \"v1\"\nkind: \"Service\"\nmetadata:\n  name: {0}\nspec:\n  selector:\n    app: {1}\n    role: "
      "\"leader\"\n"
      "  ports:\n    - port: {2}\n      targetPort: {2}\n",
      yaml_text(name + "-leader"), yaml_text(name), kFirstPort);
}

}  // namespace

LaunchFile leader_worker_set(const PlanRequest& request, const Plan& plan, const Launch& launch,
                             const EngineLaunch& engine) {
  const ParallelConfig& c = plan.config;
  const std::string name = launch.engine;
  const std::int64_t gpus = gpus_per_node(request, c);
  const std::string leader =
      engine.under_mpi ? mpi_leader_script(engine, c.instance_gpus(), gpus) : node_script(engine);
  const std::string worker = engine.under_mpi ? std::string("mkdir -p ~/.ssh && cp /ssh-keys/* ~/.ssh/ && chmod 600 ~/.ssh/*\nexec /usr/sbin/sshd -D\n") : node_script(engine);
  std::string text =
      shell_comment(fmt::format("# {} on {} x {}, {} {}: {}", request.model.name, c.gpus(), request.hardware.name,
                                launch.engine, launch.engine_version, short_text(c))) +
      "\n";
  text +=
      "# One group of pods per replica, one pod per node; needs the LeaderWorkerSet controller and the NVIDIA device "
      "plugin.\n";
  if (engine.under_mpi)
    text += fmt::format("# Secret {}-ssh holds one ssh key pair (id_rsa, authorized_keys) for the pods of a group.\n",
                        name);
  for (const std::string& note : launch.notes) text += shell_comment("# " + note) + "\n";
  text += fmt::format(
      "apiVersion: \"leaderworkerset.x-k8s.io/v1\"\nkind: \"LeaderWorkerSet\"\nmetadata:\n  name: {}\nspec:\n  "
      "replicas: {}\n"
      "  leaderWorkerTemplate:\n    size: {}\n    restartPolicy: \"RecreateGroupOnPodRestart\"\n",
      yaml_text(name), c.replicas, nodes_of(request, c));
  text += pod(engine, name, "leader", leader, gpus) + pod(engine, name, "worker", worker, gpus);
  return {name + "-lws.yaml", text + service(name) + config_map(engine, name), false};
}

}  // namespace shardplan
