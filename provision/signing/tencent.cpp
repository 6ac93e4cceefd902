#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "base/time_text.hpp"
#include "http/urls.hpp"
#include "provision/signing/canonical.hpp"
#include "provision/signing/hmac.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::signing {
namespace {

/// Returns Content-Type and Host, whose values are signed in lower case.
std::vector<http::Header> signed_headers(const http::Request& request) {
  const auto is_signed = [](std::string_view name) {
    return name == "content-type" || name == "host";
  };
  std::vector<http::Header> headers =
      canonical_headers(request.headers, is_signed, InnerSpaces::kept);
  for (http::Header& header : headers)
    header.value = ascii_lower(header.value);
  return headers;
}

}  // namespace

void sign_tencent(http::Request& request, const Keys& keys, std::string_view service,
                  TimePoint now) {
  const http::Url url = http::parse_url(request.url);
  const std::string timestamp =
      std::to_string(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  const std::string day = utc_text(now, "%Y-%m-%d");
  add_host(request);
  if (!http::find_header(request.headers, "Content-Type"))
    http::set_header(request.headers, "Content-Type", "application/json");
  http::set_header(request.headers, "X-TC-Timestamp", timestamp);
  if (!keys.session_token.reveal().empty())
    http::set_header(request.headers, "X-TC-Token", keys.session_token.reveal());
  const Canonical canonical{.method = request.method,
                            .path = url.path.empty() ? "/" : url.path,
                            .query = canonical_query(url.query),
                            .headers = signed_headers(request),
                            .body_hash = sha256_hex(request.body)};
  const std::string within = day + "/" + std::string(service) + "/tc3_request";
  const std::string to_sign = "TC3-HMAC-SHA256\n" + timestamp + "\n" + within + "\n" +
                              sha256_hex(canonical_text(canonical));
  const Digest of_day = hmac_sha256("TC3" + keys.secret_key.reveal(), day);
  const Digest key = hmac_sha256(hmac_sha256(of_day, service), "tc3_request");
  http::set_header(request.headers, "Authorization",
                   "TC3-HMAC-SHA256 Credential=" + keys.access_key + "/" + within +
                       ", SignedHeaders=" + signed_names(canonical.headers) +
                       ", Signature=" + hex(hmac_sha256(key, to_sign)));
}

}  // namespace fastgpu::provision::signing
