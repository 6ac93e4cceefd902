#include "provision/providers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::provision {
namespace {

constexpr std::array kProviders = {
    ProviderInfo{"local", "nodes on this machine, isolated by kernel namespaces"},
    ProviderInfo{"static", "hosts that you have, listed in a file and reached by SSH"},
    ProviderInfo{"aws", "Amazon's cloud; credentials as the aws command finds them", true, false,
                 false},
    ProviderInfo{"alibaba", "Alibaba Cloud; credentials as the aliyun command finds them", true,
                 true},
    ProviderInfo{"huawei", "Huawei Cloud; credentials as its SDKs find them", true, true},
    ProviderInfo{"tencent", "Tencent Cloud; credentials as the tccli command finds them", true,
                 true},
};

}  // namespace

std::span<const ProviderInfo> provider_table() {
  return kProviders;
}

ProviderInfo provider_info(std::string_view name) {
  const auto found = std::ranges::find(kProviders, name, &ProviderInfo::name);
  return found == kProviders.end() ? ProviderInfo{name, ""} : *found;
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
