// One cluster of this machine, opened for work: where its nodes are and what they are made of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "provision/providers/local/boot.hpp"
#include "provision/providers/local/cluster_network.hpp"
#include "provision/providers/local/config.hpp"
#include "provision/providers/local/mounts.hpp"
#include "state/model.hpp"

namespace fastgpu::provision::local {

struct Site {
  std::filesystem::path folder;  ///< The cluster's.
  ClusterNetwork network;
  std::vector<Layer> layers;
  std::string link_rate;  ///< Bits per second; empty is without limit.
  std::string sshd;
  std::string fuse_overlayfs;  ///< As in LocalConfig.
  std::string root_id;
  std::vector<std::string> hidden;

  std::filesystem::path node_folder(int index) const { return folder / std::to_string(index); }
};

/// Makes what the nodes of `cluster` share where it is missing: storage, record, bridge. Throws
/// ErrorKind::local where this machine has no sshd.
Site open_site(const LocalConfig& config, const state::Cluster& cluster);

/// The cluster's lines of /etc/hosts: this machine at the bridge's address, and all nodes.
std::string hosts_of(const ClusterRecord& record);

BootJob boot_job(const Site& site, int index, const std::string& name);

/// A disk mounted since the node was made has nothing of the node's on it yet: makes what it lacks.
void make_layer_folders(const Site& site, int index);

/// Where the cluster's folder is or would be; empty where nothing has ever been made here.
std::filesystem::path find_cluster_folder(const LocalConfig& config, const std::string& cluster_id);

/// What this root's bridges are marked with; empty where nothing has ever been made here.
std::string find_mark(const LocalConfig& config);

/// The system's sshd. Throws ErrorKind::local, saying how to get one.
std::string find_sshd(const LocalConfig& config);

}  // namespace fastgpu::provision::local
