// Key pairs. They are created on the vendor's web page and only described here.
#include <fnmatch.h>

#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

/// Returns the key pairs. The name may have asterisks at its ends.
Json describe_key_pairs(const AlibabaCall& call) {
  const std::string wanted = call.params.get("KeyPairName", "*");
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "key")) {
    if (::fnmatch(wanted.c_str(), each->name.c_str(), 0) != 0) continue;
    Json item = {{"KeyPairName", each->name},
                 {"KeyPairFingerPrint", each->data.at("fingerprint")},
                 {"CreationTime", iso_time(each->created)}};
    if (call.params.get("IncludePublicKey") == "true") item["PublicKey"] = each->data.at("public");
    items.push_back(item);
  }
  return paged(call, "KeyPairs", "KeyPair", items, 50);
}

constexpr AlibabaAction kKeyPairsActions[] = {
    {"ecs", "DescribeKeyPairs", "RegionId! KeyPairName IncludePublicKey PageNumber PageSize",
     describe_key_pairs},
};

}  // namespace

std::span<const AlibabaAction> key_pair_actions() {
  return kKeyPairsActions;
}

}  // namespace fastgpu::cloudsim::alibaba
