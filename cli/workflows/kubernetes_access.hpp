// The API server of Kubernetes that the user's kubeconfig names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

/// Returns true for the error of a call that may not have reached Kubernetes: its server does not
/// answer, or only that it is too busy, or the kubeconfig does not lead to one.
bool is_out_of_reach(const Error& error);

/// Whether the API server of a job is known to exist.
enum class ApiServer : std::uint8_t {
  answers,  ///< It gives some answer, if only that it is too busy.
  gone,     ///< It gives none, or the kubeconfig does not lead to it.
};

/// Returns what is known of the server of a job with these options after a call about it has ended
/// with `error`. Asks the server once more if the error leaves it open. Throws interrupted.
ApiServer server_after(Services& services, const launcher::KubernetesOptions& options,
                       const Error& error);

/// Returns the error of a call about a job in Kubernetes that has not ended on record. If the
/// server is gone, the error names the command that removes the record all the same; if it is too
/// busy, that another try helps.
Error with_way_out(const std::string& job, const Error& error, ApiServer server);

/// Returns "MPIJob ml/train-1 (context lab)" for a run of a job.
std::string mpijob_of(const launcher::JobRecord& record, const std::string& run);

}  // namespace fastgpu::cli
