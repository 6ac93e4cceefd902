// The facts about AWS that need no call of its API.
#pragma once

#include "provision/provider_info.hpp"

namespace fastgpu::provision::aws {

/// The NFS options are those of EFS's page in November 2026:
/// docs.aws.amazon.com/efs/latest/ug/mounting-fs-nfs-mount-settings.html
inline constexpr ProviderInfo kInfo{
    .name = "aws",
    .description = "Amazon's cloud; credentials as the aws command finds them",
    .is_cloud = true,
    .can_stop_spot = false,
    .has_one_card_with_address = true,
    .quota_page = "https://console.aws.amazon.com/servicequotas/home/services/ec2/quotas",
    .nfs_options = "nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport"};

}  // namespace fastgpu::provision::aws
