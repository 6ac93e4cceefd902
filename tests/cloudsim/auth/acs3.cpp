#include "base/split.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::acs3 {

std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers) {
  const std::string path = request.path.empty() ? "/" : request.path;
  const auto value_of = [&](const std::string& name) {
    return std::string(trimmed(request.header(name).value_or("")));
  };
  return request.method + "\n" + path + "\n" + canonical_query(request.query, Plus::is_space) +
         "\n" + canonical_headers(signed_headers, value_of) + "\n" +
         request.header("x-acs-content-sha256").value_or("");
}

std::string signature(const std::string& secret, const std::string& canonical) {
  return hex(hmac_sha256(secret, "ACS3-HMAC-SHA256\n" + sha256_hex(canonical)));
}

}  // namespace fastgpu::cloudsim::acs3
