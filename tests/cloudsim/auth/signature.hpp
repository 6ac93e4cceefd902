// The clouds' request signatures as a server computes them. Written apart from fastgpu's own
// signing on purpose: an error there must not be made here too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/auth/digest.hpp"
#include "cloudsim/http/message.hpp"

namespace fastgpu::cloudsim {

/// What an Authorization header says.
struct Claim {
  std::string scheme;      ///< "AWS4-HMAC-SHA256", ...
  std::string credential;  ///< The whole Credential or Access value.
  std::vector<std::string> signed_headers;
  std::string signature;

  /// The n-th part of "key/date/region/service/..."; empty where there are fewer.
  std::string part(std::size_t n) const;
};

/// Reads "SCHEME Credential=..., SignedHeaders=a;b, Signature=..."; empty fields where missing.
Claim read_claim(std::string_view authorization);

std::vector<std::string> split(std::string_view text, char separator);
std::string lower(std::string_view text);
std::string trim(std::string_view text);

/// "k=v&k=v", each side percent-encoded, sorted by encoded name and then value.
std::string canonical_query(std::string_view query, Plus plus = Plus::is_plus);

namespace sigv4 {
std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers,
                              const std::string& body_hash);
/// `scope` is "date/region/service/aws4_request".
std::string signature(const std::string& secret, const std::string& time, const std::string& scope,
                      const std::string& canonical);
}  // namespace sigv4

namespace tc3 {
std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers);
/// `scope` is "date/service/tc3_request", `timestamp` in seconds since 1970.
std::string signature(const std::string& secret, const std::string& timestamp,
                      const std::string& scope, const std::string& canonical);
}  // namespace tc3

namespace acs3 {
std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers);
std::string signature(const std::string& secret, const std::string& canonical);
}  // namespace acs3

namespace sdk_hmac {
std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers);
std::string signature(const std::string& secret, const std::string& time,
                      const std::string& canonical);
}  // namespace sdk_hmac

}  // namespace fastgpu::cloudsim
