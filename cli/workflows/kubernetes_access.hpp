// The API server of Kubernetes that the user's kubeconfig names.
#pragma once

#include <memory>

#include "cli/workflows/services.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/kubernetes/kubeconfig.hpp"

namespace fastgpu::cli {

/// Returns the access for jobs with these options. Throws ErrorKind::usage for a kubeconfig that
/// fastgpu cannot use, and not_found without one.
launcher::KubernetesAccess kubernetes_access(Services& services,
                                             const launcher::KubernetesOptions& options);

/// Returns the engine for jobs with these options. Throws as kubernetes_access().
std::unique_ptr<launcher::JobEngine> kubernetes_engine(Services& services,
                                                       const launcher::KubernetesOptions& options);

}  // namespace fastgpu::cli
