// Prepares the hosts of a static cluster: keys to log in with, and host keys to verify.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/workflows/services.hpp"
#include "cli/workflows/static_host_keys.hpp"
#include "provision/cluster_file/cluster_file.hpp"
#include "provision/providers/static/hosts.hpp"

namespace fastgpu::cli {

/// Returns the hosts of the cluster file with their host keys, which come from the file, from the
/// user's known_hosts, or as `unknown` allows. A host without an identity gets the user's
/// ~/.ssh/id_ed25519. Throws ErrorKind::denied, naming the hosts, if host keys are missing.
std::vector<provision::StaticHost> ready_static_hosts(Services& services,
                                                      const provision::ClusterFile& file,
                                                      const std::filesystem::path& file_directory,
                                                      UnknownHosts unknown);

}  // namespace fastgpu::cli
