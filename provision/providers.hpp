// The table of the places that fastgpu can make clusters in.
#pragma once

#include <span>
#include <string_view>

namespace fastgpu::provision {

struct ProviderInfo {
  std::string_view name;
  std::string_view description;
  bool is_cloud = false;
};

/// Every provider, in the order in which users see them.
std::span<const ProviderInfo> provider_table();

/// Whether that provider is a cloud, where machines cost money.
bool is_cloud(std::string_view name);

/// Throws ErrorKind::usage, with the nearest right name, where there is no such provider.
void check_provider_name(std::string_view name);

}  // namespace fastgpu::provision
