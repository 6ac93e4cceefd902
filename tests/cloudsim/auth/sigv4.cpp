#include "base/join.hpp"
#include "base/split.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::sigv4 {
namespace {

/// Trims the value and reduces several spaces to one.
std::string folded(std::string_view value) {
  std::string out;
  for (const char c : trimmed(value))
    if (c != ' ' || !out.ends_with(' ')) out += c;
  return out;
}

std::string joined_header(const Request& request, const std::string& name) {
  std::string out;
  for (const auto& [key, value] : request.headers)
    if (key == name) append_item(out, folded(value), ",");
  return out;
}

}  // namespace

std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers,
                              const std::string& body_hash) {
  const auto value_of = [&](const std::string& name) { return joined_header(request, name); };
  return request.method + "\n" + request.path + "\n" + canonical_query(request.query) + "\n" +
         canonical_headers(signed_headers, value_of) + "\n" + body_hash;
}

std::string signature(const std::string& secret, const std::string& time, const std::string& scope,
                      const std::string& canonical) {
  std::string key = "AWS4" + secret;
  for (const std::string& part : split(scope, '/'))
    key = hmac_sha256(key, part);
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + sha256_hex(canonical);
  return hex(hmac_sha256(key, to_sign));
}

}  // namespace fastgpu::cloudsim::sigv4
