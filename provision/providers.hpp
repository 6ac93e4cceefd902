// The table of the places that fastgpu can make clusters in.
#pragma once

#include <span>
#include <string_view>

namespace fastgpu::provision {

struct ProviderInfo {
  std::string_view name;
  std::string_view description;
  bool is_cloud = false;
  bool has_timer = false;     ///< Whether it ends machines by a timer of its own.
  bool can_stop_spot = true;  ///< Whether spot machines can be stopped and started again.
};

/// Every provider, in the order in which users see them.
std::span<const ProviderInfo> provider_table();

/// Whether that provider is a cloud, where machines cost money.
bool is_cloud(std::string_view name);

/// The row of that name; one of nothing but the name where there is none.
ProviderInfo provider_info(std::string_view name);

/// Throws ErrorKind::usage, with the nearest right name, where there is no such provider.
void check_provider_name(std::string_view name);

}  // namespace fastgpu::provision
