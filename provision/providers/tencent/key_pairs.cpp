// Key pairs of Tencent Cloud: always RSA, and known to the whole account.
#include "provision/cloud/key_pair.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::provision::tencent {

std::string TencentCloud::public_key(const std::string& region, const std::string& key_pair,
                                     const Cancel& cancel) {
  const cloud::KeyPairName pair{name(), region, key_pair};
  const auto items =
      api_.list({.region = region,
                 .action = "DescribeKeyPairs",
                 .body = {{"Filters", json::array({filter("key-name", {key_pair})})}},
                 .doing = "looking for a key pair in " + region},
                "KeyPairSet", cancel);
  for (const JsonAnswer& item : items)
    if (Answer(item)["KeyName"].text() == key_pair)
      return cloud::public_key_of(pair, Answer(item)["PublicKey"].text());
  throw cloud::no_such_key_pair(pair);
}

}  // namespace fastgpu::provision::tencent
