// Kubernetes: the MPIJob of a job (kubeflow.org/v2beta1), and what the cluster reports about it.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "launcher/job.hpp"
#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {

/// The number of pods with ranks, the slots of each, and the ranks in all.
struct MpiJobSize {
  int workers = 1;
  int slots = 1;
  int ranks = 1;
};

/// Computes the size from -np, --npernode and kubernetes.workers. Throws ErrorKind::usage if they
/// contradict each other, or the number of ranks is missing.
MpiJobSize mpijob_size(const JobSpec& spec);

/// Returns the manifest. `key` is an annotation by which the job is found to be ours. Throws
/// ErrorKind::usage if the image is missing.
nlohmann::ordered_json mpijob_manifest(const std::string& job_id, const JobSpec& spec,
                                       const std::string& name_space, const std::string& key);

/// Paths of the API.
std::string mpijobs_path(const std::string& name_space);
std::string launcher_pods_path(const std::string& name_space, const std::string& name);
/// `since` and `tail` are queries of the log, in seconds and lines.
std::string pod_log_path(const std::string& name_space, const std::string& pod, bool follow,
                         const std::string& since_time, std::optional<long> since,
                         std::optional<std::uint64_t> tail);

enum class MpiJobPhase : std::uint8_t { waiting, running, succeeded, failed };

/// A job as Kubernetes sees it.
struct MpiJobState {
  MpiJobPhase phase = MpiJobPhase::waiting;
  std::string reason{};  ///< The reason of the newest condition that holds, such as "MPIJobFailed".
  std::string message{};
  int slots = 1;                       ///< The slots of each worker.
  std::vector<std::string> secrets{};  ///< Values of variables whose names sound like a secret.
  std::optional<state::TimePoint> started{};  ///< The time when the operator took it up.
  std::optional<state::TimePoint> ended{};    ///< Absent before its end.
};

/// Reads the conditions of an MPIJob, its times, and its secrets. Throws remote, naming the field,
/// for another object.
MpiJobState parse_mpijob(const nlohmann::json& object);

/// The pod that runs mpirun.
struct LauncherPod {
  std::string name{};
  std::string node{};              ///< Empty before it has one.
  bool has_log = false;            ///< True once the container has started.
  std::optional<int> exit_code{};  ///< Absent before its end.
  std::string reason{};            ///< Why it waits or ended: "OOMKilled", "ErrImagePull".
  std::optional<state::TimePoint> started{};  ///< The time when the container started.
  std::optional<state::TimePoint> ended{};    ///< The time when it ended.
};

/// Returns the newest pod of a list; absent for an empty one. Throws remote, naming the field.
std::optional<LauncherPod> parse_launcher_pod(const nlohmann::json& list);

/// Returns the rank that failed first, as mpirun names it in `words`; absent if it names none. Its
/// node is the pod of the worker that has its slot. Pure.
std::optional<state::FirstFailure> failure_named_by_mpirun(std::string_view words,
                                                           const std::string& job_id,
                                                           const MpiJobSize& size);

/// Makes the rank the cause of a job's bad end.
void blame_rank(JobOutcome& outcome, state::FirstFailure failure);

/// Decides about a job that has ended. `pod` may be gone. The times are those of the launcher's
/// container, and else those of the MPIJob.
JobOutcome decide_mpijob(const MpiJobState& job, const std::optional<LauncherPod>& pod,
                         const JobSpec& spec);

}  // namespace fastgpu::launcher
