// The engine Kubernetes: a job is an MPIJob, which Kubeflow's MPI operator runs.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/client.hpp"
#include "launcher/engines/mpijob.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/kubernetes/api.hpp"

namespace fastgpu::launcher {

struct KubernetesTimes {
  std::chrono::milliseconds between_questions{1'000};
  /// Following a job ends with an error once the server has not answered for this long.
  std::chrono::milliseconds server_timeout{60'000};
  http::Backoff backoff{.attempts = 5, .deadline = std::chrono::seconds(60)};
};

/// Runs jobs in one namespace. The log of the launcher's pod is that of all ranks: mpirun tags
/// their lines.
class KubernetesEngine final : public JobEngine {
 public:
  KubernetesEngine(std::unique_ptr<http::Client> client, KubernetesAccess access,
                   KubernetesTimes times = {});

  /// Creates the MPIJob, whose name is the id. Does not call `when_prepared`: pods have no
  /// directory of the job.
  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>& when_prepared) override;
  /// Lets the server check the MPIJob. The text is the manifest as JSON.
  JobTrial try_start(const JobRecord& job, const Cancel& cancel) override;
  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer,
                    const Cancel& cancel) override;
  JobGlance glance(const std::string& id, const JobRecord& job) override;
  /// Deletes the MPIJob, and with it its pods and their logs.
  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job) override;
  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel) override;
  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel& cancel) override;

 private:
  class Reader;
  /// The server's view of a job.
  struct Seen {
    std::optional<MpiJobState> job{};  ///< Absent if the MPIJob is gone.
    std::optional<LauncherPod> pod{};
  };

  void remove_if_ours(const std::string& id, const std::string& key);
  Seen look(const std::string& id, const Cancel& cancel);
  std::string path_of(const std::string& id) const;
  bool has_ended(const Seen& seen) const;

  std::unique_ptr<http::Client> client_;
  KubernetesApi api_;
  KubernetesTimes times_;
};

}  // namespace fastgpu::launcher
