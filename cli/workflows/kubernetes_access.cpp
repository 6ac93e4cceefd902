#include "cli/workflows/kubernetes_access.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/names.hpp"
#include "http/curl_client.hpp"
#include "launcher/kubernetes_engine.hpp"

namespace fastgpu::cli {

launcher::KubernetesAccess kubernetes_access(Services& services,
                                             const launcher::KubernetesOptions& options) {
  const auto path = launcher::kubeconfig_path(services.environment());
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    throw Error(ErrorKind::not_found, "engine kubernetes: there is no kubeconfig " +
                                          printable(path.string()) +
                                          ": name the one of your cluster by KUBECONFIG");
  launcher::KubernetesAccess access =
      launcher::read_kubeconfig(config::Document::read(path), path.parent_path(), options.context);
  if (!options.name_space.empty()) access.name_space = options.name_space;
  return access;
}

std::unique_ptr<launcher::JobEngine> kubernetes_engine(Services& services,
                                                       const launcher::KubernetesOptions& options) {
  launcher::KubernetesAccess access = kubernetes_access(services, options);
  http::CurlSettings settings = http::curl_settings(services.environment());
  settings.ca_text = access.ca_text;
  settings.identity = access.certificate;
  return launcher::make_kubernetes_engine(std::make_unique<http::CurlClient>(std::move(settings)),
                                          std::move(access));
}

}  // namespace fastgpu::cli
