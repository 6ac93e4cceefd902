#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::tc3 {

std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers) {
  std::string out = request.method + "\n/\n" + request.query + "\n";
  std::string names;
  for (const std::string& name : signed_headers) {
    out += name;
    out += ':';
    out += lower(trim(request.header(name).value_or("")));
    out += '\n';
    names += names.empty() ? "" : ";";
    names += name;
  }
  return out + "\n" + names + "\n" + sha256_hex(request.body);
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
