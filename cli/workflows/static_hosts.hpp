// The hosts of a static cluster made ready: keys to log in with, and host keys to trust.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/workflows/services.hpp"
#include "cli/workflows/static_host_keys.hpp"
#include "config/cluster_file.hpp"
#include "provision/providers/static/hosts.hpp"

namespace fastgpu::cli {

/// Returns the hosts of `file`, each with the keys that it must prove to own: from the file, else
/// from the user's known_hosts, else by `unknown`. Without an identity of its own a host gets the
/// user's ~/.ssh/id_ed25519. Throws ErrorKind::denied, naming the hosts, if keys are missing.
std::vector<provision::StaticHost> ready_static_hosts(Services& services,
                                                      const config::ClusterFile& file,
                                                      const std::filesystem::path& file_directory,
                                                      UnknownHosts unknown);

}  // namespace fastgpu::cli
