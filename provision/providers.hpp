// The table of the places that fastgpu can make clusters in.
#pragma once

#include <span>
#include <string_view>

namespace fastgpu::provision {

struct ProviderInfo {
  std::string_view name;
  std::string_view description;
};

/// Every provider, in the order in which users see them.
std::span<const ProviderInfo> provider_table();

/// Throws ErrorKind::usage, with the nearest right name, where there is no such provider.
void check_provider_name(std::string_view name);

}  // namespace fastgpu::provision
