#include "launcher/engines/mpijob.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "agent/protocol/plan.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/secret_text.hpp"
#include "base/units.hpp"
#include "http/urls.hpp"
#include "launcher/engines/mpirun_words.hpp"
#include "launcher/kubernetes/api.hpp"
#include "launcher/kubernetes/log_lines.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The launcher finds the first host of the job where the operator writes it.
constexpr const char* kFirstHost =
    "MASTER_ADDR=$(sed '1!d;s/[ :].*//' \"${OMPI_MCA_orte_default_hostfile:-/etc/mpi/hostfile}\") "
    "&& export MASTER_ADDR || exit 1; ";
/// The list of TensorFlow's workers: mpirun fills the slots of one host after the other. $left and
/// $slots are set before, to the ranks of the job and of a host.
constexpr const char* kListWorkers =
    R"sh(for host in $(sed 's/[ :].*//' "${OMPI_MCA_orte_default_hostfile:-/etc/mpi/hostfile}"); do )sh"
    R"sh(port=$MASTER_PORT; end=$((port + slots)); )sh"
    R"sh(while [ $port -lt $end ] && [ $left -gt 0 ]; do )sh"
    R"sh(list="$list,\"$host:$port\""; port=$((port + 1)); left=$((left - 1)); done; done; )sh"
    R"sh(export FASTGPU_JOB_WORKERS="${list#,}"; )sh";
constexpr const char* kJobWorkers = "FASTGPU_JOB_WORKERS";
/// A rank names all workers and its place among them, unless the job does.
constexpr const char* kNameWorkers =
    R"sh({ [ -n "$TF_CONFIG" ] || TF_CONFIG="{\"cluster\":{\"worker\":[$FASTGPU_JOB_WORKERS]},)sh"
    R"sh(\"task\":{\"type\":\"worker\",\"index\":$OMPI_COMM_WORLD_RANK}}"; } && export TF_CONFIG )sh"
    R"sh(&& unset FASTGPU_JOB_WORKERS && )sh";
/// The names that training scripts read, beside those of Open MPI.
constexpr const char* kRankScript =
    "export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
    "LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK LOCAL_WORLD_SIZE=$OMPI_COMM_WORLD_LOCAL_SIZE "
    "FASTGPU_RANK=$OMPI_COMM_WORLD_RANK FASTGPU_WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
    "FASTGPU_LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK && ";
constexpr const char* kStart = "exec \"$@\"";

/// The pods have addresses of their own. TensorFlow's workers listen here and above, so that the
/// port of libfastgpu_comm is below.
constexpr int kMasterPort = 29'400;

std::string variable_name(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

/// Returns the variables of all ranks: the user's, which win, and those that depend on no rank.
std::vector<std::string> mpijob_variables(const std::string& job_id, const JobSpec& spec) {
  // The first port is PyTorch's, where that is used.
  std::vector<std::string> variables = {
      "MASTER_PORT=" + std::to_string(kMasterPort),
      "FASTGPU_COMM_MASTER_PORT=" + std::to_string(kMasterPort - 1), "PYTHONUNBUFFERED=1",
      std::string(agent::kJobMarker) + "=" + job_id};
  for (const std::string& assignment : spec.environment) {
    std::erase_if(variables, [&](const std::string& other) {
      return variable_name(other) == variable_name(assignment);
    });
    variables.push_back(assignment);
  }
  return variables;
}

/// Returns what the launcher's shell runs: it finds the hosts and then becomes the program.
std::string launcher_script(const MpiJobSize& size) {
  std::string script = kFirstHost;
  if (size.ranks > 1)
    script += "left=" + std::to_string(size.ranks) + " slots=" + std::to_string(size.slots) +
              " list=; " + kListWorkers;
  return script + kStart;
}

/// Returns what the shell of each rank runs.
std::string rank_script(const MpiJobSize& size) {
  return std::string(kRankScript) + (size.ranks > 1 ? kNameWorkers : "") + kStart;
}

std::vector<std::string> launcher_command(const JobSpec& spec, const MpiJobSize& size,
                                          const std::vector<std::string>& variables) {
  std::vector<std::string> argv = {"/bin/sh",
                                   "-c",
                                   launcher_script(size),
                                   "sh",
                                   "mpirun",
                                   "--allow-run-as-root",
                                   "-np",
                                   std::to_string(size.ranks),
                                   "--map-by",
                                   "slot",
                                   "--bind-to",
                                   "none",
                                   "--tag-output"};
  if (!spec.directory.empty()) argv.insert(argv.end(), {"--wdir", spec.directory});
  argv.insert(argv.end(), {"-x", "MASTER_ADDR"});
  for (const std::string& assignment : variables)
    argv.insert(argv.end(), {"-x", variable_name(assignment)});
  if (size.ranks > 1) argv.insert(argv.end(), {"-x", kJobWorkers});
  argv.insert(argv.end(), {"/bin/sh", "-c", rank_script(size), "sh"});
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  return argv;
}

/// Returns the words so that a container gets them unchanged: Kubernetes reads "$(NAME)" as the
/// value of a variable, and "$$" as one dollar sign.
std::vector<std::string> escaped_arguments(std::vector<std::string> words) {
  for (std::string& word : words)
    for (std::size_t at = 0; (at = word.find('$', at)) != std::string::npos; ++at)
      if (word.find_first_of("$(", at + 1) == at + 1) word.insert(at++, "$");
  return words;
}

/// Returns what a container gets for an escaped argument.
std::string unescaped_argument(std::string word) {
  for (std::size_t at = 0; (at = word.find("$$", at)) != std::string::npos; ++at)
    word.erase(at, 1);
  return word;
}

ordered_json pod_template(const JobSpec& spec, ordered_json container) {
  ordered_json pod = {{"containers", ordered_json::array({std::move(container)})}};
  pod["terminationGracePeriodSeconds"] =
      std::chrono::ceil<std::chrono::seconds>(spec.grace).count();
  return {{"spec", std::move(pod)}};
}

ordered_json launcher_of(const std::string& job_id, const JobSpec& spec, const MpiJobSize& size) {
  const auto variables = mpijob_variables(job_id, spec);
  ordered_json env = ordered_json::array();
  for (const std::string& assignment : variables) {
    const std::string name = variable_name(assignment);
    const std::vector<std::string> value = escaped_arguments({assignment.substr(name.size() + 1)});
    env.push_back(ordered_json{{"name", name}, {"value", value.front()}});
  }
  ordered_json container = {{"name", "launcher"}, {"image", spec.kubernetes.image}};
  container["command"] = escaped_arguments(launcher_command(spec, size, variables));
  container["env"] = std::move(env);
  return {{"replicas", 1},
          {"restartPolicy", "Never"},
          {"template", pod_template(spec, std::move(container))}};
}

ordered_json worker_of(const JobSpec& spec, const MpiJobSize& size) {
  const KubernetesOptions& options = spec.kubernetes;
  ordered_json limits = ordered_json::object();
  if (options.gpus) limits["nvidia.com/gpu"] = *options.gpus;
  if (!options.cpus.empty()) limits["cpu"] = options.cpus;
  if (!options.memory.empty()) limits["memory"] = options.memory;
  ordered_json container = {{"name", "worker"}, {"image", options.image}};
  if (!limits.empty()) container["resources"] = {{"limits", std::move(limits)}};
  return {{"replicas", size.workers},
          {"restartPolicy", "Never"},
          {"template", pod_template(spec, std::move(container))}};
}

/// Returns a field that may be missing, but has that type if it is there.
json optional_field(const json& object, const char* key, json::value_t type) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return json(type);
  if (found->type() != type)
    throw Error(ErrorKind::remote,
                std::string("Kubernetes: field '") + key + "' is a " + found->type_name());
  return *found;
}

std::string optional_text(const json& object, const char* key) {
  return optional_field(object, key, json::value_t::string).get<std::string>();
}

/// Returns the time in a field of an object; absent without one.
std::optional<state::TimePoint> time_in(const json& object, const char* key) {
  const auto time = parse_pod_time(optional_text(object, key));
  if (!time) return std::nullopt;
  return state::TimePoint(
      std::chrono::duration_cast<state::TimePoint::duration>(std::chrono::nanoseconds(*time)));
}

LauncherPod parse_pod(const json& pod) {
  const json metadata = optional_field(pod, "metadata", json::value_t::object);
  const json spec = optional_field(pod, "spec", json::value_t::object);
  const json status = optional_field(pod, "status", json::value_t::object);
  LauncherPod parsed{.name = optional_text(metadata, "name"),
                     .node = optional_text(spec, "nodeName"),
                     .reason = optional_text(status, "reason")};
  if (parsed.name.empty()) throw Error(ErrorKind::remote, "Kubernetes: a pod has no name");
  const json containers = optional_field(status, "containerStatuses", json::value_t::array);
  for (const json& container : containers) {
    if (!container.is_object() || optional_text(container, "name") != "launcher") continue;
    const json state = optional_field(container, "state", json::value_t::object);
    const json waiting = optional_field(state, "waiting", json::value_t::object);
    const json ended = optional_field(state, "terminated", json::value_t::object);
    parsed.has_log = state.contains("running") || state.contains("terminated");
    const json running = optional_field(state, "running", json::value_t::object);
    parsed.started = time_in(ended.empty() ? running : ended, "startedAt");
    parsed.ended = time_in(ended, "finishedAt");
    if (!optional_text(waiting, "reason").empty()) parsed.reason = optional_text(waiting, "reason");
    if (ended.contains("exitCode")) {
      parsed.exit_code = field<int>(ended, "exitCode");
      parsed.reason = optional_text(ended, "reason");
    }
  }
  return parsed;
}

std::string created_at(const json& pod) {
  return optional_text(optional_field(pod, "metadata", json::value_t::object), "creationTimestamp");
}

JobOutcome outcome_of_mpijob(const MpiJobState& job, const std::optional<LauncherPod>& pod,
                             const JobSpec& spec) {
  using state::JobState;
  if (job.phase == MpiJobPhase::succeeded) return {};
  const bool is_late =
      job.reason == "DeadlineExceeded" || (pod && pod->reason == "DeadlineExceeded");
  if (is_late && spec.timeout.count() > 0)
    return {.state = JobState::failed,
            .exit_code = 124,
            .reason = "ran longer than " + to_string(spec.timeout),
            .cause = JobEndCause::timeout};
  const std::string why = job.message.empty() ? job.reason : job.message;
  if (!pod || !pod->exit_code)
    return {.state = JobState::failed,
            .exit_code = 1,
            .reason = why.empty() ? "the MPIJob failed" : "the MPIJob failed: " + why,
            .cause = JobEndCause::launcher};
  const int code = *pod->exit_code == 0 ? 1 : *pod->exit_code;
  const bool is_plain = pod->reason.empty() || pod->reason == "Error";
  return {.state = JobState::failed,
          .exit_code = code,
          .reason = "the launcher " + pod->name + " exited with " + std::to_string(code) +
                    (is_plain ? "" : " (" + printable(pod->reason) + ")"),
          .cause = JobEndCause::failure};
}

/// Returns the values of the launcher's variables that may be secrets.
std::vector<std::string> secrets_of(const json& spec) {
  json at = spec;
  for (const char* key : {"mpiReplicaSpecs", "Launcher", "template", "spec"})
    at = optional_field(at, key, json::value_t::object);
  std::vector<std::string> secrets;
  for (const json& container : optional_field(at, "containers", json::value_t::array)) {
    if (!container.is_object()) continue;
    for (const json& variable : optional_field(container, "env", json::value_t::array))
      if (variable.is_object() && sounds_secret(optional_text(variable, "name")))
        secrets.push_back(unescaped_argument(optional_text(variable, "value")));
  }
  return secrets;
}

}  // namespace

MpiJobSize mpijob_size(const JobSpec& spec) {
  const auto& workers = spec.kubernetes.workers;
  if (!spec.ranks && !workers)
    throw Error(ErrorKind::usage,
                "engine kubernetes: the number of ranks is missing: give -np, or "
                "kubernetes.workers with --npernode");
  MpiJobSize size;
  const int slots = spec.per_node.value_or(1);
  if (!spec.ranks) {
    size = {.workers = *workers, .slots = slots, .ranks = *workers * slots};
  } else if (workers) {
    const int needed = (*spec.ranks + *workers - 1) / *workers;
    size = {.workers = *workers, .slots = spec.per_node.value_or(needed), .ranks = *spec.ranks};
  } else {
    const int per_worker = spec.per_node.value_or(*spec.ranks);
    size = {.workers = (*spec.ranks + per_worker - 1) / per_worker,
            .slots = per_worker,
            .ranks = *spec.ranks};
  }
  check_count("ranks (kubernetes.workers times --npernode)", size.ranks);
  if (size.ranks > size.workers * size.slots)
    throw Error(ErrorKind::usage,
                "engine kubernetes: not enough workers: " + counted(size.workers, "worker") +
                    " with " + counted(size.slots, "rank") + " each, for " +
                    counted(size.ranks, "rank"));
  return size;
}

ordered_json mpijob_manifest(const std::string& job_id, const JobSpec& spec,
                             const std::string& name_space, const std::string& key) {
  if (spec.kubernetes.image.empty())
    throw Error(ErrorKind::usage,
                "engine kubernetes: the container image is missing: set kubernetes.image");
  const MpiJobSize size = mpijob_size(spec);
  ordered_json metadata = {{"name", job_id}, {"namespace", name_space}};
  metadata["labels"] = {{"app.kubernetes.io/managed-by", "fastgpu"}};
  metadata["annotations"] = {{kKubernetesKey, key}};
  // The launcher's pod stays for its log and its exit code.
  ordered_json policy = {{"cleanPodPolicy", "Running"}, {"backoffLimit", 0}};
  if (spec.timeout.count() > 0)
    policy["activeDeadlineSeconds"] = std::chrono::ceil<std::chrono::seconds>(spec.timeout).count();
  ordered_json job = {{"slotsPerWorker", size.slots},
                      {"runPolicy", std::move(policy)},
                      {"mpiImplementation", "OpenMPI"}};
  job["mpiReplicaSpecs"] = {{"Launcher", launcher_of(job_id, spec, size)},
                            {"Worker", worker_of(spec, size)}};
  return {{"apiVersion", "kubeflow.org/v2beta1"},
          {"kind", "MPIJob"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(job)}};
}

std::string mpijobs_path(const std::string& name_space) {
  return "/apis/kubeflow.org/v2beta1/namespaces/" + http::percent_encode(name_space) + "/mpijobs";
}

std::string launcher_pods_path(const std::string& name_space, const std::string& name) {
  const std::string selector =
      "training.kubeflow.org/job-name=" + name + ",training.kubeflow.org/job-role=launcher";
  return "/api/v1/namespaces/" + http::percent_encode(name_space) + "/pods?" +
         http::encode_query({{"labelSelector", selector}});
}

std::string pod_log_path(const std::string& name_space, const std::string& pod, bool follow,
                         const std::string& since_time, std::optional<long> since,
                         std::optional<std::uint64_t> tail) {
  http::Parameters query = {{"container", "launcher"}, {"timestamps", "true"}};
  if (follow) query.emplace_back("follow", "true");
  if (!since_time.empty())
    query.emplace_back("sinceTime", since_time);
  else if (since)
    query.emplace_back("sinceSeconds", std::to_string(std::max(1L, *since)));
  if (since_time.empty() && tail) query.emplace_back("tailLines", std::to_string(*tail));
  return "/api/v1/namespaces/" + http::percent_encode(name_space) + "/pods/" +
         http::percent_encode(pod) + "/log?" + http::encode_query(query);
}

MpiJobState parse_mpijob(const json& object) {
  if (optional_text(object, "kind") != "MPIJob")
    throw Error(ErrorKind::remote, "Kubernetes: the answer is no MPIJob");
  const json status = optional_field(object, "status", json::value_t::object);
  MpiJobState state;
  const json spec = optional_field(object, "spec", json::value_t::object);
  const int slots = spec.contains("slotsPerWorker") ? field<int>(spec, "slotsPerWorker") : 1;
  for (const json& condition : optional_field(status, "conditions", json::value_t::array)) {
    if (!condition.is_object() || optional_text(condition, "status") != "True") continue;
    const std::string type = optional_text(condition, "type");
    MpiJobPhase phase = state.phase;
    if (type == "Succeeded") phase = MpiJobPhase::succeeded;
    if (type == "Failed") phase = MpiJobPhase::failed;
    if (type == "Running" && phase == MpiJobPhase::waiting) phase = MpiJobPhase::running;
    if (type == "Suspended" && phase == MpiJobPhase::running) phase = MpiJobPhase::waiting;
    state = {.phase = phase,
             .reason = printable(optional_text(condition, "reason"), 100),
             .message = printable(optional_text(condition, "message"), 300)};
    if (phase != MpiJobPhase::succeeded && phase != MpiJobPhase::failed) continue;
    state.ended = time_in(status, "completionTime");
    if (!state.ended) state.ended = time_in(condition, "lastTransitionTime");
    break;
  }
  state.started = time_in(status, "startTime");
  state.slots = std::max(1, slots);
  state.secrets = secrets_of(spec);
  return state;
}

std::optional<LauncherPod> parse_launcher_pod(const json& list) {
  const json items = optional_field(list, "items", json::value_t::array);
  const json* newest = nullptr;
  for (const json& pod : items) {
    if (!pod.is_object()) throw Error(ErrorKind::remote, "Kubernetes: a pod is no object");
    // Times of this form sort as texts.
    if (newest == nullptr || created_at(pod) >= created_at(*newest)) newest = &pod;
  }
  if (newest == nullptr) return std::nullopt;
  return parse_pod(*newest);
}

std::optional<state::FirstFailure> failure_named_by_mpirun(std::string_view words,
                                                           const std::string& job_id,
                                                           const MpiJobSize& size) {
  auto named = rank_named_by_mpirun(words, size.ranks);
  const auto abort = abort_named_by_mpirun(words, size.ranks);
  if (!named && abort && abort->rank && (abort->code & 0xff) != 0)
    named = NamedRank{.rank = *abort->rank, .how = {.code = abort->code & 0xff}};
  if (!named) return std::nullopt;
  return state::FirstFailure{
      .rank = named->rank,
      .node = {job_id + "-worker-" + std::to_string(named->rank / size.slots)},
      .exit_code = named->how.shell_code(),
      .signal = named->how.signal == 0 ? "" : process::signal_name(named->how.signal)};
}

void blame_rank(JobOutcome& outcome, state::FirstFailure failure) {
  const std::string how = failure.signal.empty()
                              ? "exited with " + std::to_string(*failure.exit_code)
                              : "killed by " + failure.signal;
  outcome.reason =
      "rank " + std::to_string(failure.rank) + " on " + failure.node.value + ": " + how;
  outcome.exit_code = *failure.exit_code;
  outcome.first_rank = failure.rank;
  outcome.failure = std::move(failure);
}

JobOutcome decide_mpijob(const MpiJobState& job, const std::optional<LauncherPod>& pod,
                         const JobSpec& spec) {
  JobOutcome outcome = outcome_of_mpijob(job, pod, spec);
  outcome.began = job.started;
  outcome.ended = job.ended;
  if (!pod) return outcome;
  outcome.nodes = pod->node;
  if (pod->ended) outcome.ended = pod->ended;
  // A container that was never started has not run.
  if (!pod->has_log) outcome.began = outcome.ended;
  if (pod->started) outcome.began = pod->started;
  return outcome;
}

}  // namespace fastgpu::launcher
