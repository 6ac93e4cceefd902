// Key pairs of Huawei Cloud: each belongs to a user in a region.
#include "provision/cloud/key_pair.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

namespace fastgpu::provision::huawei {

std::string HuaweiCloud::public_key(const std::string& region, const std::string& key_pair,
                                    const Cancel& cancel) {
  const cloud::KeyPairName pair{name(), region, key_pair};
  const HuaweiCall call{.region = region,
                        .action = "NovaShowKeypair",
                        .path = "/v2.1/{project}/os-keypairs/" + http::percent_encode(key_pair),
                        .doing = "looking for a key pair in " + region};
  const auto reply = api_.try_call(call, cancel);
  if (const auto* failure = std::get_if<cloud::Failure>(&reply)) {
    if (failure->kind == cloud::FailureKind::not_found) throw cloud::no_such_key_pair(pair);
    throw cloud::error_of(*failure, "huawei: " + call.doing);
  }
  const JsonAnswer& answer = std::get<JsonAnswer>(reply);
  return cloud::public_key_of(pair, answer["keypair"]["public_key"].text());
}

}  // namespace fastgpu::provision::huawei
