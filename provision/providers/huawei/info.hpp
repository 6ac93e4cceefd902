// The facts about Huawei Cloud that need no call of its API.
#pragma once

#include <array>
#include <string_view>

#include "provision/provider_info.hpp"

namespace fastgpu::provision::huawei {

/// The data disks are those of data_volumes in ECS's API, in November 2026.
inline constexpr std::array<std::string_view, 9> kDiskTypes = {
    "SATA", "SAS", "GPSSD", "GPSSD2", "SSD", "ESSD", "ESSD2", "co-p1", "uh-l1"};

/// The NFS options are those of SFS Turbo's page in November 2026:
/// support.huaweicloud.com/usermanual-sfsturbo/sfsturbo_01_0025.html. The page of quotas has not
/// been seen with an account.
inline constexpr ProviderInfo kInfo{
    .name = "huawei",
    .description = "Huawei Cloud; credentials as its SDKs find them",
    .is_cloud = true,
    .has_timer = true,
    .has_spot_prices = false,
    .quota_page = "https://console.huaweicloud.com/quota",
    .billing_page = "https://account.huaweicloud.com/usercenter/#/accountindex/balance",
    .disk_types = kDiskTypes,
    .nfs_options = "vers=3,timeo=600,noresvport,nolock,tcp",
    .endpoint_variable = "FASTGPU_HUAWEI_ENDPOINT"};

}  // namespace fastgpu::provision::huawei
