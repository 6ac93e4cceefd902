// The row of a provider in the table of provision/providers.hpp.
#pragma once

#include <span>
#include <string_view>

namespace fastgpu::provision {

struct ProviderInfo {
  std::string_view name;
  std::string_view description;
  bool is_cloud = false;
  bool has_timer = false;       ///< True if it ends machines by a timer of its own.
  bool can_stop_spot = true;    ///< True if spot machines can be stopped and started again.
  bool has_spot_prices = true;  ///< True if the cloud's API returns the prices of spot machines.
  /// True if the cluster file lists the hosts, which fastgpu neither makes nor stops nor deletes.
  bool needs_hosts_file = false;
  /// True if nodes are processes of this machine: their first process ends them.
  bool has_local_nodes = false;
  /// True if nodes with a public address can use only one of their network cards for RDMA.
  bool has_one_card_with_address = false;
  /// Says why clusters there cannot be taken over, and what to do instead; empty: they can be.
  std::string_view no_takeover{};
  /// The page of the cloud's console on which quotas are raised; empty: unknown.
  std::string_view quota_page{};
  /// The page of the cloud's console on which an account is topped up or its bills are paid; empty:
  /// unknown.
  std::string_view billing_page{};
  /// The types of data disks that the cloud's API names; empty: unknown.
  std::span<const std::string_view> disk_types{};
  /// The NFS options for the cloud's own file stores; the default suits most stores.
  std::string_view nfs_options = "hard,timeo=600,retrans=2,noresvport";
  /// The variable that replaces the cloud's usual address: "FASTGPU_HUAWEI_ENDPOINT"; empty: none
  /// of ours.
  std::string_view endpoint_variable{};
};

}  // namespace fastgpu::provision
