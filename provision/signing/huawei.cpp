#include "base/hex.hpp"
#include "base/time_text.hpp"
#include "http/urls.hpp"
#include "provision/signing/canonical.hpp"
#include "provision/signing/hmac.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::signing {

void sign_huawei(http::Request& request, const Keys& keys, TimePoint now) {
  const http::Url url = http::parse_url(request.url);
  const std::string date = utc_text(now, "%Y%m%dT%H%M%SZ");
  add_host(request);
  http::set_header(request.headers, "X-Sdk-Date", date);
  if (!keys.session_token.reveal().empty())
    http::set_header(request.headers, "X-Security-Token", keys.session_token.reveal());
  // The signed path always ends in a slash, even if the sent one does not.
  const std::string path = encoded_path(http::percent_decode(url.path));
  const Canonical canonical{
      .method = request.method,
      .path = path.ends_with('/') ? path : path + "/",
      .query = canonical_query(url.query),
      .headers = canonical_headers(
          request.headers, [](std::string_view) { return true; }, InnerSpaces::kept),
      .body_hash = sha256_hex(request.body)};
  const std::string to_sign =
      "SDK-HMAC-SHA256\n" + date + "\n" + sha256_hex(canonical_text(canonical));
  http::set_header(request.headers, "Authorization",
                   "SDK-HMAC-SHA256 Access=" + keys.access_key +
                       ", SignedHeaders=" + signed_names(canonical.headers) +
                       ", Signature=" + hex(hmac_sha256(keys.secret_key.reveal(), to_sign)));
}

}  // namespace fastgpu::provision::signing
