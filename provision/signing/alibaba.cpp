#include "base/hex.hpp"
#include "base/time_text.hpp"
#include "http/urls.hpp"
#include "provision/signing/canonical.hpp"
#include "provision/signing/hmac.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::signing {
namespace {

bool is_signed(std::string_view name) {
  return name == "host" || name == "content-type" || name.starts_with("x-acs-");
}

struct Call {
  std::string_view action;
  std::string_view version;
  std::string_view nonce;
};

void add_headers(http::Request& request, const Keys& keys, const Call& call, TimePoint now) {
  const auto set = [&](std::string_view name, std::string value) {
    http::set_header(request.headers, name, std::move(value));
  };
  add_host(request);
  set("x-acs-action", std::string(call.action));
  set("x-acs-version", std::string(call.version));
  set("x-acs-date", utc_text(now));
  set("x-acs-signature-nonce", std::string(call.nonce));
  set("x-acs-content-sha256", sha256_hex(request.body));
  if (keys.session_token.reveal().empty()) return;
  set("x-acs-accesskey-id", keys.access_key);
  set("x-acs-security-token", keys.session_token.reveal());
}

}  // namespace

void sign_alibaba(http::Request& request, const Keys& keys, std::string_view action,
                  std::string_view version, TimePoint now, std::string_view nonce) {
  const http::Url url = http::parse_url(request.url);
  add_headers(request, keys, {action, version, nonce}, now);
  const Canonical canonical{
      .method = request.method,
      .path = url.path.empty() ? "/" : url.path,
      .query = canonical_query(url.query),
      .headers = canonical_headers(request.headers, is_signed, InnerSpaces::kept),
      .body_hash = sha256_hex(request.body)};
  const std::string to_sign = "ACS3-HMAC-SHA256\n" + sha256_hex(canonical_text(canonical));
  http::set_header(request.headers, "Authorization",
                   "ACS3-HMAC-SHA256 Credential=" + keys.access_key +
                       ",SignedHeaders=" + signed_names(canonical.headers) +
                       ",Signature=" + hex(hmac_sha256(keys.secret_key.reveal(), to_sign)));
}

}  // namespace fastgpu::provision::signing
