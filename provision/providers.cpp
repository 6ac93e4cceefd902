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
    ProviderInfo{.name = "local",
                 .description = "nodes on this machine, isolated by kernel namespaces",
                 .has_local_nodes = true,
                 .no_takeover =
                     "local nodes are processes of the machine that made them: log in there, and "
                     "use fastgpu as the user whose state directory has the cluster"},
    ProviderInfo{.name = "static",
                 .description = "hosts that you have, listed in a file and reached by SSH",
                 .needs_hosts_file = true,
                 .no_takeover = "static hosts need no takeover: make a cluster of the same file "
                                "here (`fastgpu create cluster -f cluster.yaml`)"},
    ProviderInfo{.name = "aws",
                 .description = "Amazon's cloud; credentials as the aws command finds them",
                 .is_cloud = true,
                 .can_stop_spot = false,
                 .has_one_card_with_address = true},
    ProviderInfo{.name = "alibaba",
                 .description = "Alibaba Cloud; credentials as the aliyun command finds them",
                 .is_cloud = true,
                 .has_timer = true},
    ProviderInfo{.name = "huawei",
                 .description = "Huawei Cloud; credentials as its SDKs find them",
                 .is_cloud = true,
                 .has_timer = true},
    ProviderInfo{.name = "tencent",
                 .description = "Tencent Cloud; credentials as the tccli command finds them",
                 .is_cloud = true,
                 .has_timer = true},
};

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
