// The mount options of the clouds' file stores.
#pragma once

#include <string_view>

namespace fastgpu::provision::cloud {

/// Returns the NFS options that the vendor recommends for its own store, or for an unknown cloud
/// the options that suit most stores.
std::string_view nfs_options(std::string_view cloud);

}  // namespace fastgpu::provision::cloud
