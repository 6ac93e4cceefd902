// The facts about Tencent Cloud that need no call of its API.
#pragma once

#include "provision/provider_info.hpp"

namespace fastgpu::provision::tencent {

/// The NFS options are those of CFS's page in November 2026,
/// cloud.tencent.com/document/product/582/113840, and the default of CFSOption in the API of THPC
/// 2023-03-21. The page of quotas has not been seen with an account.
inline constexpr ProviderInfo kInfo{
    .name = "tencent",
    .description = "Tencent Cloud; credentials as the tccli command finds them",
    .is_cloud = true,
    .has_timer = true,
    .quota_page = "https://console.cloud.tencent.com/cvm/overview",
    .nfs_options = "vers=3,nolock,proto=tcp,noresvport",
    .endpoint_variable = "FASTGPU_TENCENT_ENDPOINT"};

}  // namespace fastgpu::provision::tencent
