// The table of the places at which fastgpu can make clusters.
#pragma once

#include <span>
#include <string_view>

namespace fastgpu::provision {

struct ProviderInfo {
  std::string_view name;
  std::string_view description;
  bool is_cloud = false;
  bool has_timer = false;     ///< True if it ends machines by a timer of its own.
  bool can_stop_spot = true;  ///< True if spot machines can be stopped and started again.
  /// True if the cluster file lists the hosts, which fastgpu neither makes nor stops nor deletes.
  bool needs_hosts_file = false;
  /// True if nodes are processes of this machine: their first process ends them.
  bool has_local_nodes = false;
  /// True if nodes with a public address can use only one of their network cards for RDMA.
  bool has_one_card_with_address = false;
  /// Says why clusters there cannot be taken over, and what to do instead; empty: they can be.
  std::string_view no_takeover{};
};

/// Returns every provider, in the order in which users see them.
std::span<const ProviderInfo> provider_table();

/// Returns true if that provider is a cloud, where machines cost money.
bool is_cloud(std::string_view name);

/// Returns the row of that name, or a row that has only the name if the table has no such row.
ProviderInfo provider_info(std::string_view name);

/// Throws ErrorKind::usage, with the nearest known name, for an unknown provider.
void check_provider_name(std::string_view name);

}  // namespace fastgpu::provision
