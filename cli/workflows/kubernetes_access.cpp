#include "cli/workflows/kubernetes_access.hpp"

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/names.hpp"
#include "http/curl_client.hpp"
#include "launcher/kubernetes_engine.hpp"

namespace fastgpu::cli {

launcher::KubernetesAccess kubernetes_access(Services& services,
                                             const launcher::KubernetesOptions& options) {
  const auto path = launcher::kubeconfig_path(services.environment());
  if (!path_exists(path))
    throw Error(ErrorKind::not_found, "engine kubernetes: there is no kubeconfig " +
                                          printable(path.string()) +
                                          ": name the one of your cluster by KUBECONFIG");
  launcher::KubernetesAccess access =
      launcher::read_kubeconfig(config::Document::read(path), path.parent_path(), options.context);
  if (!options.name_space.empty()) access.name_space = options.name_space;
  return access;
}

namespace {

std::unique_ptr<http::Client> client_for(Services& services,
                                         const launcher::KubernetesAccess& access) {
  http::CurlSettings settings = http::curl_settings(services.environment());
  settings.ca_text = access.ca_text;
  settings.identity = access.certificate;
  return std::make_unique<http::CurlClient>(std::move(settings));
}

/// Returns true if the server that the kubeconfig names for these options answers anything.
bool is_answered(Services& services, const launcher::KubernetesOptions& options) {
  constexpr std::chrono::seconds kLimit{5};
  try {
    const launcher::KubernetesAccess access = kubernetes_access(services, options);
    const http::Request request{
        .url = access.server + "/version", .limit = kLimit, .connect_limit = kLimit};
    client_for(services, access)->send(request, services.cancel());
    return true;
  } catch (const Error&) {
    services.cancel().check();
    return false;
  }
}

}  // namespace

std::unique_ptr<launcher::JobEngine> kubernetes_engine(Services& services,
                                                       const launcher::KubernetesOptions& options) {
  launcher::KubernetesAccess access = kubernetes_access(services, options);
  auto client = client_for(services, access);
  return launcher::make_kubernetes_engine(std::move(client), std::move(access));
}

bool is_out_of_reach(const Error& error) {
  const ErrorKind kind = error.kind();
  const bool is_silent = kind == ErrorKind::transient || kind == ErrorKind::timeout;
  return is_silent || kind == ErrorKind::not_found || kind == ErrorKind::usage;
}

ApiServer server_after(Services& services, const launcher::KubernetesOptions& options,
                       const Error& error) {
  if (!is_out_of_reach(error) || is_answered(services, options)) return ApiServer::answers;
  return ApiServer::gone;
}

Error with_way_out(const std::string& job, const Error& error, ApiServer server) {
  if (!is_out_of_reach(error)) return error;
  const std::string text = std::string(error.what()) + "; job " + job + " may run there: ";
  if (server == ApiServer::answers)
    return {error.kind(), text + "the server answers, so try again once it does as usual"};
  return {error.kind(), text + "if that Kubernetes is gone, `fastgpu delete job " + job +
                            "` asks, and removes the record alone"};
}

std::string mpijob_of(const launcher::JobRecord& record, const std::string& run) {
  const launcher::KubernetesOptions& options = record.spec.kubernetes;
  return "MPIJob " + options.name_space + (options.name_space.empty() ? "" : "/") + run +
         " (context " + options.context + ")";
}

}  // namespace fastgpu::cli
