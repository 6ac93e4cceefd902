#include "provision/cloud/quota_pages.hpp"

#include <array>
#include <utility>

namespace fastgpu::provision::cloud {

// The vendors' own addresses; those of Tencent and Huawei have not been seen with an account.
std::string_view quota_page(std::string_view cloud) noexcept {
  using Row = std::pair<std::string_view, std::string_view>;
  constexpr std::array kPages = {
      Row("aws", "https://console.aws.amazon.com/servicequotas/home/services/ec2/quotas"),
      Row("alibaba", "https://quotas.console.aliyun.com"),
      Row("tencent", "https://console.cloud.tencent.com/cvm/overview"),
      Row("huawei", "https://console.huaweicloud.com/quota"),
  };
  for (const auto& [name, page] : kPages)
    if (name == cloud) return page;
  return {};
}

}  // namespace fastgpu::provision::cloud
