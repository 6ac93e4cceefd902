// The key files of a cluster: its own key pair, and the host keys of nodes while they are made.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// By token. Kept until the nodes run, so that a repeated request is the same request.
using HostKeys = std::map<std::string, KeyPair>;

/// Makes the cluster's key pair and host key pairs for the nodes, adding to what is on disk.
void make_keys(const Tools& tools, const state::Cluster& cluster,
               std::span<const state::Node> nodes, HostKeyUse use, HostKeys& host_keys);

/// Makes the cluster's key pair where it is not there.
void make_cluster_key(const Tools& tools, const state::Cluster& cluster);

/// Absent where the file is missing or unreadable.
std::optional<HostKeys> read_host_keys(const std::filesystem::path& state_directory,
                                       const state::ClusterId& cluster);

/// The public half of the cluster's key; absent where it is missing.
std::optional<std::string> authorized_key(const std::filesystem::path& state_directory,
                                          const state::ClusterId& cluster);

void drop_host_keys(const std::filesystem::path& state_directory,
                    const state::ClusterId& cluster) noexcept;

/// Removes the cluster's place for files. Fine where it is gone already.
void remove_key_files(const std::filesystem::path& state_directory,
                      const state::ClusterId& cluster);

}  // namespace fastgpu::provision
