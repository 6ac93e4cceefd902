// One cluster of this machine, opened for work: the place and the parts of its nodes.
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

struct LocalSite {
  std::filesystem::path folder;  ///< The cluster's folder.
  ClusterNetwork network;
  std::vector<Layer> layers;
  std::string link_rate;  ///< Bits per second; empty: no limit.
  std::string sshd;
  std::string fuse_overlayfs;  ///< Equal to that in LocalConfig.
  std::string root_id;
  std::vector<std::string> hidden;

  std::filesystem::path node_folder(int index) const { return folder / std::to_string(index); }
};

/// Makes the shared parts of the nodes of `cluster` if they are missing: storage, record, bridge.
/// Throws ErrorKind::local if this machine has no sshd.
LocalSite open_site(const LocalConfig& config, const state::Cluster& cluster);

/// Returns the cluster's lines of /etc/hosts: this machine at the bridge's address, and all nodes.
std::string hosts_of(const LocalClusterRecord& record);

BootJob boot_job(const LocalSite& site, int index, const std::string& name);

/// Makes missing folders of layers: a disk mounted since the node was made has none of the node's
/// yet.
void make_layer_folders(const LocalSite& site, int index);

/// Returns the cluster's folder, even before it exists; empty if nothing has ever been made here.
std::filesystem::path find_cluster_folder(const LocalConfig& config, const std::string& cluster_id);

/// Returns the mark of this root's bridges; empty if nothing has ever been made here.
std::string find_mark(const LocalConfig& config);

/// Returns the system's sshd. Throws ErrorKind::local, with advice on how to get one.
std::string find_sshd(const LocalConfig& config);

}  // namespace fastgpu::provision::local
