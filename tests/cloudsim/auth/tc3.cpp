#include "base/ascii.hpp"
#include "base/split.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::tc3 {

std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers) {
  const auto value_of = [&](const std::string& name) {
    return ascii_lower(trimmed(request.header(name).value_or("")));
  };
  return request.method + "\n/\n" + request.query + "\n" +
         canonical_headers(signed_headers, value_of) + "\n" + sha256_hex(request.body);
}

std::string signature(const std::string& secret, const std::string& timestamp,
                      const std::string& scope, const std::string& canonical) {
  std::string key = "TC3" + secret;
  for (const std::string& part : split(scope, '/'))
    key = hmac_sha256(key, part);
  const std::string to_sign =
      "TC3-HMAC-SHA256\n" + timestamp + "\n" + scope + "\n" + sha256_hex(canonical);
  return hex(hmac_sha256(key, to_sign));
}

}  // namespace fastgpu::cloudsim::tc3
