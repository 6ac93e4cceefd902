// Key pairs of Alibaba Cloud: each belongs to a region.
#include "provision/cloud/key_pair.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"

namespace fastgpu::provision::alibaba {

std::string AlibabaCloud::public_key(const std::string& region, const std::string& key_pair,
                                     const Cancel& cancel) {
  const cloud::KeyPairName pair{name(), region, key_pair};
  std::optional<std::string> found;
  api_.pages(
      {.region = region,
       .action = "DescribeKeyPairs",
       .parameters = {{"KeyPairName", key_pair}, {"IncludePublicKey", "true"}},
       .doing = "looking for a key pair in " + region},
      [&](const Answer& page) {
        for (const Answer& item : page["KeyPairs"]["KeyPair"].items())
          if (item["KeyPairName"].text() == key_pair) found = item["PublicKey"].text();
      },
      cancel);
  if (!found) throw cloud::no_such_key_pair(pair);
  return cloud::public_key_of(pair, *found);
}

}  // namespace fastgpu::provision::alibaba
