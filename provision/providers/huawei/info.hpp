// The facts about Huawei Cloud that need no call of its API.
#pragma once

#include "provision/provider_info.hpp"

namespace fastgpu::provision::huawei {

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
    .nfs_options = "vers=3,timeo=600,noresvport,nolock,tcp",
    .endpoint_variable = "FASTGPU_HUAWEI_ENDPOINT"};

}  // namespace fastgpu::provision::huawei
