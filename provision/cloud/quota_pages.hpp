// The pages on which people raise an account's quotas.
#pragma once

#include <string_view>

namespace fastgpu::provision::cloud {

/// Returns the page of the cloud's console; empty for an unknown cloud.
std::string_view quota_page(std::string_view cloud) noexcept;

}  // namespace fastgpu::provision::cloud
