// The facts about Alibaba Cloud that need no call of its API.
#pragma once

#include "provision/provider_info.hpp"

namespace fastgpu::provision::alibaba {

/// The NFS options are those of NAS's page in November 2026, for version 3, which is recommended
/// where no file is locked across machines:
/// alibabacloud.com/help/en/nas/user-guide/mount-an-nfs-file-system-on-a-linux-ecs-instance
inline constexpr ProviderInfo kInfo{
    .name = "alibaba",
    .description = "Alibaba Cloud; credentials as the aliyun command finds them",
    .is_cloud = true,
    .has_timer = true,
    .quota_page = "https://quotas.console.aliyun.com",
    .nfs_options =
        "vers=3,nolock,proto=tcp,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,"
        "noresvport",
    .endpoint_variable = "FASTGPU_ALIBABA_ENDPOINT"};

}  // namespace fastgpu::provision::alibaba
