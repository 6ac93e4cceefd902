// Key pairs. They are created on the vendor's web page and only described here.
#include "cloudsim/apis/huawei/call.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

Answered show_key_pair(const HuaweiCall& call) {
  const std::string& name = call.path.at("keypair_name");
  for (const Resource* each : call.world.resources_of(call.scope, "key"))
    if (each->name == name)
      return {200,
              {{"keypair",
                {{"name", name},
                 {"public_key", each->data.at("public")},
                 {"fingerprint", each->data.at("fingerprint")},
                 {"type", "ssh"},
                 {"deleted", false}}}}};
  throw Refusal(404, "Ecs.0400", "Keypair " + name + " could not be found.");
}

constexpr HuaweiAction kKeyPairsActions[] = {
    {"ecs", "NovaShowKeypair", "GET", "/v2.1/{project_id}/os-keypairs/{keypair_name}", "",
     show_key_pair},
};

}  // namespace

std::span<const HuaweiAction> key_pair_actions() {
  return kKeyPairsActions;
}

}  // namespace fastgpu::cloudsim::huawei
