// The signatures of requests to the clouds, as their servers compute them. This code is
// deliberately separate from fastgpu's own signing code, so that an error there is not repeated
// here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/auth/digest.hpp"
#include "cloudsim/http/message.hpp"

namespace fastgpu::cloudsim {

/// The content of an Authorization header.
struct Claim {
  std::string scheme;      ///< "AWS4-HMAC-SHA256", ...
  std::string credential;  ///< The whole value of Credential or Access.
  std::vector<std::string> signed_headers;
  std::string signature;

  /// Returns the n-th part of "key/date/region/service/..."; "" if there are fewer parts.
  std::string part(std::size_t n) const;
};

/// Parses "SCHEME Credential=..., SignedHeaders=a;b, Signature=...". Missing fields are empty.
Claim read_claim(std::string_view authorization);

std::vector<std::string> split(std::string_view text, char separator);

/// Returns "k=v&k=v" with both sides percent-encoded, sorted by encoded name and then by value.
std::string canonical_query(std::string_view query, Plus plus = Plus::is_plus);

/// Returns the part of a canonical request that has the signed headers: "name:value" lines, an
/// empty line, and the names joined by ";".
std::string canonical_headers(const std::vector<std::string>& names,
                              const std::function<std::string(const std::string&)>& value_of);

namespace sigv4 {
std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers,
                              const std::string& body_hash);
/// Returns the signature. `scope` is "date/region/service/aws4_request".
std::string signature(const std::string& secret, const std::string& time, const std::string& scope,
                      const std::string& canonical);
}  // namespace sigv4

namespace tc3 {
std::string canonical_request(const Request& request,
                              const std::vector<std::string>& signed_headers);
/// Returns the signature. `scope` is "date/service/tc3_request", and `timestamp` is in seconds
/// since 1970.
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
