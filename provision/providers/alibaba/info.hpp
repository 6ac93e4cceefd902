// The facts about Alibaba Cloud that need no call of its API.
#pragma once

#include <array>
#include <string_view>

#include "provision/provider_info.hpp"

namespace fastgpu::provision::alibaba {

/// The data disks are those of RunInstances in ECS's API, in November 2026.
inline constexpr std::array<std::string_view, 11> kDiskTypes = {"cloud",
                                                                "cloud_efficiency",
                                                                "cloud_ssd",
                                                                "cloud_essd",
                                                                "cloud_essd_entry",
                                                                "cloud_auto",
                                                                "cloud_regional_disk_auto",
                                                                "cloud_essd_xc0",
                                                                "cloud_essd_xc1",
                                                                "elastic_ephemeral_disk_standard",
                                                                "elastic_ephemeral_disk_premium"};

/// The NFS options are those of NAS's page in November 2026, for version 3, which is recommended
/// where no file is locked across machines:
/// alibabacloud.com/help/en/nas/user-guide/mount-an-nfs-file-system-on-a-linux-ecs-instance
inline constexpr ProviderInfo kInfo{
    .name = "alibaba",
    .description = "Alibaba Cloud; credentials as the aliyun command finds them",
    .is_cloud = true,
    .has_timer = true,
    .quota_page = "https://quotas.console.aliyun.com",
    .billing_page = "https://usercenter2.aliyun.com/home",
    .disk_types = kDiskTypes,
    .nfs_options =
        "vers=3,nolock,proto=tcp,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,"
        "noresvport",
    .endpoint_variable = "FASTGPU_ALIBABA_ENDPOINT"};

}  // namespace fastgpu::provision::alibaba
