// The facts about AWS that need no call of its API.
#pragma once

#include <array>
#include <string_view>

#include "provision/provider_info.hpp"

namespace fastgpu::provision::aws {

/// The data disks are those of EbsBlockDevice in EC2's API, in November 2026.
inline constexpr std::array<std::string_view, 7> kDiskTypes = {"standard", "gp2", "gp3", "io1",
                                                               "io2",      "st1", "sc1"};

/// The NFS options are those of EFS's page in November 2026:
/// docs.aws.amazon.com/efs/latest/ug/mounting-fs-nfs-mount-settings.html
inline constexpr ProviderInfo kInfo{
    .name = "aws",
    .description = "Amazon's cloud; credentials as the aws command finds them",
    .is_cloud = true,
    .can_stop_spot = false,
    .has_one_card_with_address = true,
    .quota_page = "https://console.aws.amazon.com/servicequotas/home/services/ec2/quotas",
    .billing_page = "https://console.aws.amazon.com/billing/home",
    .disk_types = kDiskTypes,
    .nfs_options = "nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport"};

}  // namespace fastgpu::provision::aws
