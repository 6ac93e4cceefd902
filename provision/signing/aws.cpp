#include <algorithm>
#include <vector>

#include "base/hex.hpp"
#include "base/time_text.hpp"
#include "http/urls.hpp"
#include "provision/signing/canonical.hpp"
#include "provision/signing/hmac.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::signing {
namespace {

/// Returns the path without empty, "." and ".." parts; a slash at its end stays.
std::string normalized(std::string_view path) {
  const bool ends_in_slash = path.ends_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
  }
  std::string result;
  for (const std::string_view part : parts)
    result.append("/").append(part);
  return result.empty() || ends_in_slash ? result + "/" : result;
}

Digest signing_key(const Keys& keys, std::string_view day, std::string_view region,
                   std::string_view service) {
  Digest key = hmac_sha256("AWS4" + keys.secret_key.reveal(), day);
  for (const std::string_view step : {region, service, std::string_view("aws4_request")})
    key = hmac_sha256(key, step);
  return key;
}

}  // namespace

void sign_aws_v4(http::Request& request, const Keys& keys, std::string_view region,
                 std::string_view service, TimePoint now, AwsPath path) {
  const http::Url url = http::parse_url(request.url);
  const std::string date = utc_text(now, "%Y%m%dT%H%M%SZ");
  add_host(request);
  http::set_header(request.headers, "X-Amz-Date", date);
  if (!keys.session_token.reveal().empty())
    http::set_header(request.headers, "X-Amz-Security-Token", keys.session_token.reveal());
  const Canonical canonical{
      .method = request.method,
      .path = encoded_path(path == AwsPath::normalized ? normalized(url.path) : url.path),
      .query = canonical_query(url.query),
      .headers = canonical_headers(
          request.headers, [](std::string_view) { return true; }, InnerSpaces::collapsed),
      .body_hash = sha256_hex(request.body)};
  const std::string day = date.substr(0, 8);
  const std::string within =
      day + "/" + std::string(region) + "/" + std::string(service) + "/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + date + "\n" + within + "\n" + sha256_hex(canonical_text(canonical));
  const Digest key = signing_key(keys, day, region, service);
  http::set_header(request.headers, "Authorization",
                   "AWS4-HMAC-SHA256 Credential=" + keys.access_key + "/" + within +
                       ", SignedHeaders=" + signed_names(canonical.headers) +
                       ", Signature=" + hex(hmac_sha256(key, to_sign)));
}

}  // namespace fastgpu::provision::signing
