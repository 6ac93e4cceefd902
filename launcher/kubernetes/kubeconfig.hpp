// kubeconfig: which API server a context names, and how to log in there.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "config/document.hpp"
#include "http/client.hpp"

namespace fastgpu::launcher {

/// The data for requests to an API server.
struct KubernetesAccess {
  std::string context{};
  std::string server{};  ///< "https://10.0.0.1:6443", without a slash at the end.
  std::string name_space{"default"};
  std::string ca_text{};  ///< The authorities to trust, as PEM; empty for those of the system.
  Secret token{};         ///< Empty for none.
  std::optional<http::ClientCertificate> certificate{};
};

/// Reads a context of a kubeconfig; an empty name is the current one. Files that it names are
/// relative to `directory`. Throws ErrorKind::usage, with the place in the file, for what is
/// missing or damaged, and, with its name, for what fastgpu does not do: plugins that log in,
/// passwords, servers without verified TLS.
KubernetesAccess read_kubeconfig(const config::Document& document,
                                 const std::filesystem::path& directory,
                                 const std::string& context);

/// Returns the path of the kubeconfig: KUBECONFIG, or ~/.kube/config. Throws ErrorKind::usage if
/// KUBECONFIG names several files, which would have to be merged.
std::filesystem::path kubeconfig_path(
    const std::function<std::optional<std::string>(const char*)>& environment);

}  // namespace fastgpu::launcher
