// The facts about clusters of the user's hosts in general.
#pragma once

#include "provision/provider_info.hpp"

namespace fastgpu::provision {

inline constexpr ProviderInfo kStaticInfo{
    .name = "static",
    .description = "hosts that you have, listed in a file and reached by SSH",
    .needs_hosts_file = true,
    .no_takeover =
        "static hosts need no takeover: make a cluster of the same file here (`fastgpu "
        "create cluster -f cluster.yaml`)"};

}  // namespace fastgpu::provision
