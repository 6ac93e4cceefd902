// Request signatures of the four clouds: pure functions that add headers to a request.
//
// Each signs the Host header of the request where it has one, else the host (and port) of its URL,
// and gives the request a Host header. Call one anew for every attempt, with the time of that
// attempt: headers of an earlier one are replaced. The URL must already be what goes out: its query
// is read as percent-encoded text. Throws ErrorKind::usage for a URL that is none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "http/client.hpp"
#include "provision/signing/keys.hpp"

namespace fastgpu::provision::signing {

using TimePoint = std::chrono::system_clock::time_point;

/// Whether dots and repeated slashes of a path are resolved before it is signed: S3 alone signs
/// paths as they are.
enum class AwsPath : std::uint8_t { normalized, as_is };

/// AWS4-HMAC-SHA256. Signs every header that the request has. Adds X-Amz-Date, Authorization, and
/// X-Amz-Security-Token where the keys have a token.
void sign_aws_v4(http::Request& request, const Keys& keys, std::string_view region,
                 std::string_view service, TimePoint now, AwsPath path = AwsPath::normalized);

/// ACS3-HMAC-SHA256. `nonce` is to be unique in each attempt. Signs Host, Content-Type and every
/// x-acs- header. Adds x-acs-action, -version, -date, -signature-nonce, -content-sha256,
/// Authorization, and with a token x-acs-security-token and x-acs-accesskey-id.
void sign_alibaba(http::Request& request, const Keys& keys, std::string_view action,
                  std::string_view version, TimePoint now, std::string_view nonce);

/// TC3-HMAC-SHA256. The caller sets X-TC-Action, X-TC-Version, X-TC-Region and Content-Type, this
/// adds X-TC-Timestamp, Authorization, and X-TC-Token where the keys have a token; a missing
/// Content-Type becomes application/json. Signs Host and Content-Type.
void sign_tencent(http::Request& request, const Keys& keys, std::string_view service,
                  TimePoint now);

/// SDK-HMAC-SHA256. The caller sets Content-Type and X-Project-Id or X-Domain-Id, this adds
/// X-Sdk-Date, Authorization, and X-Security-Token where the keys have a token. Signs every header
/// that the request has.
void sign_huawei(http::Request& request, const Keys& keys, TimePoint now);

}  // namespace fastgpu::provision::signing
