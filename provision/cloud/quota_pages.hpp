// Where people raise what an account may have.
#pragma once

#include <string_view>

namespace fastgpu::provision::cloud {

/// The page of the cloud's console; empty for a cloud of which none is known.
std::string_view quota_page(std::string_view cloud) noexcept;

}  // namespace fastgpu::provision::cloud
