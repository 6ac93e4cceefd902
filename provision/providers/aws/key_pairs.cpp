// Key pairs of AWS: each belongs to a region.
#include "provision/cloud/key_pair.hpp"
#include "provision/providers/aws/aws_cloud.hpp"

namespace fastgpu::provision::aws {

std::string AwsCloud::public_key(const std::string& region, const std::string& key_pair,
                                 const Cancel& cancel) {
  const cloud::KeyPairName pair{name(), region, key_pair};
  Ec2Call call{.region = region,
               .action = "DescribeKeyPairs",
               .parameters = {{"IncludePublicKey", "true"}},
               .doing = "looking for a key pair in " + region};
  add_filter(call.parameters, 1, "key-name", {key_pair});
  const auto document = ec2_.call(call, cancel);
  for (const pugi::xml_node& item : items(document->document_element(), "keySet"))
    if (item.child_value("keyName") == key_pair)
      return cloud::public_key_of(pair, item.child_value("publicKey"));
  throw cloud::no_such_key_pair(pair);
}

}  // namespace fastgpu::provision::aws
