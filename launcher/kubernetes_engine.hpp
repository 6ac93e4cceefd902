// The engine Kubernetes: a job is an MPIJob, which Kubeflow's MPI operator runs.
#pragma once

#include <chrono>
#include <memory>

#include "http/client.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/kubernetes/api.hpp"

namespace fastgpu::launcher {

struct KubernetesTimes {
  std::chrono::milliseconds between_questions{1'000};
  /// Following a job ends with an error once the server has not answered for this long.
  std::chrono::milliseconds server_timeout{60'000};
  http::Backoff backoff{.attempts = 5, .deadline = std::chrono::seconds(60)};
};

/// Returns the engine that runs jobs in one namespace. The log of the launcher's pod is that of all
/// ranks: mpirun tags their lines.
std::unique_ptr<JobEngine> make_kubernetes_engine(std::unique_ptr<http::Client> client,
                                                  KubernetesAccess access,
                                                  KubernetesTimes times = {});

}  // namespace fastgpu::launcher
