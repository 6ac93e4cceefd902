// The facts about Tencent Cloud that need no call of its API.
#pragma once

#include <array>
#include <string_view>

#include "provision/provider_info.hpp"

namespace fastgpu::provision::tencent {

/// The data disks are those of DataDisk in CVM's API, in November 2026.
inline constexpr std::array<std::string_view, 10> kDiskTypes = {
    "CLOUD_BASIC", "CLOUD_PREMIUM", "CLOUD_SSD",    "CLOUD_BSSD",  "CLOUD_HSSD",
    "CLOUD_TSSD",  "CLOUD_BIGDATA", "CLOUD_HIGHIO", "LOCAL_BASIC", "LOCAL_SSD"};

/// The NFS options are those of CFS's page in November 2026,
/// cloud.tencent.com/document/product/582/113840, and the default of CFSOption in the API of THPC
/// 2023-03-21. The page of quotas has not been seen with an account.
inline constexpr ProviderInfo kInfo{
    .name = "tencent",
    .description = "Tencent Cloud; credentials as the tccli command finds them",
    .is_cloud = true,
    .has_timer = true,
    .quota_page = "https://console.cloud.tencent.com/cvm/overview",
    .billing_page = "https://console.cloud.tencent.com/expense/recharge",
    .disk_types = kDiskTypes,
    .nfs_options = "vers=3,nolock,proto=tcp,noresvport",
    .endpoint_variable = "FASTGPU_TENCENT_ENDPOINT"};

}  // namespace fastgpu::provision::tencent
