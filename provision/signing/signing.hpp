// Request signatures of the four clouds: pure functions that add headers to a request.
//
// Each signs the Host header of the request if it has one, else the host (and port) of its URL.
// Each gives the request a Host header. Call one anew for every attempt, with the time of that
// attempt: headers of an earlier one are replaced. The URL must already be the one that is sent:
// its query is read as percent-encoded text. Throws ErrorKind::usage for an invalid URL.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "http/client.hpp"
#include "provision/signing/keys.hpp"

namespace fastgpu::provision::signing {

using TimePoint = std::chrono::system_clock::time_point;

/// The treatment of dots and repeated slashes in a path before it is signed. Only S3 signs paths
/// unchanged.
enum class AwsPath : std::uint8_t { normalized, as_is };

/// Signs by AWS4-HMAC-SHA256: every header that the request has. Adds X-Amz-Date, Authorization,
/// and X-Amz-Security-Token if the keys have a token.
void sign_aws_v4(http::Request& request, const Keys& keys, std::string_view region,
                 std::string_view service, TimePoint now, AwsPath path = AwsPath::normalized);

/// Signs by ACS3-HMAC-SHA256: Host, Content-Type and every x-acs- header. `nonce` must be unique in
/// each attempt. Adds x-acs-action, -version, -date, -signature-nonce, -content-sha256,
/// Authorization, and with a token x-acs-security-token and x-acs-accesskey-id.
void sign_alibaba(http::Request& request, const Keys& keys, std::string_view action,
                  std::string_view version, TimePoint now, std::string_view nonce);

/// Signs by TC3-HMAC-SHA256: Host and Content-Type. The caller sets X-TC-Action, X-TC-Version,
/// X-TC-Region and Content-Type. This adds X-TC-Timestamp, Authorization, and X-TC-Token if the
/// keys have a token; a missing Content-Type becomes application/json.
void sign_tencent(http::Request& request, const Keys& keys, std::string_view service,
                  TimePoint now);

/// Signs by SDK-HMAC-SHA256: every header that the request has. The caller sets Content-Type and
/// X-Project-Id or X-Domain-Id. This adds X-Sdk-Date, Authorization, and X-Security-Token if the
/// keys have a token.
void sign_huawei(http::Request& request, const Keys& keys, TimePoint now);

}  // namespace fastgpu::provision::signing
