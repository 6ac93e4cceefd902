// The table of the places at which fastgpu can make clusters.
#pragma once

#include <span>
#include <string_view>

#include "provision/provider_info.hpp"

namespace fastgpu::provision {

/// Returns every provider, in the order in which users see them.
std::span<const ProviderInfo> provider_table();

/// Returns true if that provider is a cloud, where machines cost money.
bool is_cloud(std::string_view name);

/// Returns the row of that name, or a row that has only the name if the table has no such row.
ProviderInfo provider_info(std::string_view name);

/// Throws ErrorKind::usage, with the nearest known name, for an unknown provider.
void check_provider_name(std::string_view name);

}  // namespace fastgpu::provision
