// The names of the tags on the resources that we make.
#pragma once

#include <string_view>

namespace fastgpu::provision::cloud {

/// The tags on every resource that we make.
constexpr std::string_view kClusterTag = "fastgpu-cluster";       ///< The cluster's identity.
constexpr std::string_view kNameTag = "fastgpu-name";             ///< The cluster's name.
constexpr std::string_view kOwnerTag = "fastgpu-owner";           ///< The state directory's mark.
constexpr std::string_view kFirstTag = "fastgpu-first";           ///< The first node's index.
constexpr std::string_view kTakenTag = "fastgpu-taken";           ///< Tags::taken
constexpr std::string_view kLaunchedTag = "fastgpu-launched-as";  ///< Tags::launched_as
constexpr std::string_view kHostKeyTag = "fastgpu-host-key";      ///< Tags::host_key

}  // namespace fastgpu::provision::cloud
