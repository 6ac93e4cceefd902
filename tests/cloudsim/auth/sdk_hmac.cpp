#include "base/split.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::sdk_hmac {
namespace {

/// Encodes each part between slashes again. The result ends with a slash in any case.
std::string canonical_path(const std::string& path) {
  std::string out;
  for (const std::string& part : split(path, '/')) {
    out += percent_encode(percent_decode(part, Plus::is_plus));
    out += '/';
  }
  return path.ends_with('/') ? out.substr(0, out.size() - 1) : out;
}

}  // namespace

std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers) {
  const auto value_of = [&](const std::string& name) {
    return std::string(trimmed(request.header(name).value_or("")));
  };
  const std::string said = request.header("x-sdk-content-sha256").value_or("");
  return request.method + "\n" + canonical_path(request.path) + "\n" +
         canonical_query(request.query) + "\n" + canonical_headers(signed_headers, value_of) +
         "\n" + (said.empty() ? sha256_hex(request.body) : said);
}

std::string signature(const std::string& secret, const std::string& time,
                      const std::string& canonical) {
  return hex(hmac_sha256(secret, "SDK-HMAC-SHA256\n" + time + "\n" + sha256_hex(canonical)));
}

}  // namespace fastgpu::cloudsim::sdk_hmac
