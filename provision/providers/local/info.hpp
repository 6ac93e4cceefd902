// The facts about local clusters in general.
#pragma once

#include "provision/provider_info.hpp"

namespace fastgpu::provision {

inline constexpr ProviderInfo kLocalInfo{
    .name = "local",
    .description = "nodes on this machine, isolated by kernel namespaces",
    .has_local_nodes = true,
    .no_takeover =
        "local nodes are processes of the machine that made them: log in there, and use "
        "fastgpu as the user whose state directory has the cluster"};

}  // namespace fastgpu::provision
