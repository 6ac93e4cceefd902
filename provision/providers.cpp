#include "provision/providers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "provision/providers/alibaba/info.hpp"
#include "provision/providers/aws/info.hpp"
#include "provision/providers/huawei/info.hpp"
#include "provision/providers/local/info.hpp"
#include "provision/providers/static/info.hpp"
#include "provision/providers/tencent/info.hpp"

namespace fastgpu::provision {
namespace {

constexpr std::array kProviders = {kLocalInfo,     kStaticInfo,   aws::kInfo,
                                   alibaba::kInfo, huawei::kInfo, tencent::kInfo};

}  // namespace

std::span<const ProviderInfo> provider_table() {
  return kProviders;
}

ProviderInfo provider_info(std::string_view name) {
  const auto found = std::ranges::find(kProviders, name, &ProviderInfo::name);
  return found == kProviders.end() ? ProviderInfo{.name = name, .description = ""} : *found;
}

bool is_cloud(std::string_view name) {
  return provider_info(name).is_cloud;
}

void check_provider_name(std::string_view name) {
  std::vector<std::string> names;
  for (const ProviderInfo& provider : kProviders) {
    if (provider.name == name) return;
    names.emplace_back(provider.name);
  }
  std::string message = "there is no provider '" + printable(name) + "'";
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty()) message += ", did you mean '" + nearest + "'?";
  throw Error(ErrorKind::usage, message + " (`fastgpu get providers` lists them)");
}

}  // namespace fastgpu::provision
