// The key files of a cluster: its own key pair, and the host keys of nodes while they are made.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Host keys by token. Kept until the nodes run, so that a repeated request is the same request.
using HostKeys = std::map<std::string, KeyPair>;

/// Makes the cluster's key pair and host key pairs for the nodes, and adds them to those on disk.
void make_keys(const Tools& tools, const state::Cluster& cluster,
               std::span<const state::Node> nodes, HostKeyUse use, HostKeys& host_keys);

/// Makes the cluster's key pair if it is missing.
void make_cluster_key(const Tools& tools, const state::Cluster& cluster);

/// Reads the host keys; absent if the file is missing or unreadable.
std::optional<HostKeys> read_host_keys(const std::filesystem::path& state_directory,
                                       const state::ClusterId& cluster);

/// Returns the public half of the cluster's key; absent if it is missing.
std::optional<std::string> authorized_key(const std::filesystem::path& state_directory,
                                          const state::ClusterId& cluster);

void drop_host_keys(const std::filesystem::path& state_directory,
                    const state::ClusterId& cluster) noexcept;

/// Removes the cluster's folder for files. Succeeds if it is gone already.
void remove_key_files(const std::filesystem::path& state_directory,
                      const state::ClusterId& cluster);

}  // namespace fastgpu::provision
