#include "cloudsim/apis/huawei/authenticate.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/world/times.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

constexpr auto kSkew = std::chrono::minutes(15);

constexpr const char* kCode = "APIGW.0301";

Refusal refused(const std::string& why) {
  return {401, kCode, "Incorrect IAM authentication information: " + why};
}

void check_form(const Call& call, const Claim& claim) {
  const auto is_signed = [&](std::string_view name) {
    return contains(claim.signed_headers, name);
  };
  if (claim.credential.empty() || claim.signature.size() != 64)
    throw ProtocolViolation(401, kCode, "the Authorization header is malformed");
  if (!is_signed("host") || !is_signed("x-sdk-date"))
    throw ProtocolViolation(401, kCode, "host and x-sdk-date must be signed");
  if (!std::ranges::is_sorted(claim.signed_headers))
    throw ProtocolViolation(401, kCode, "SignedHeaders are not sorted");
  const std::string said = call.request->header("x-sdk-content-sha256").value_or("");
  if (!said.empty() && said != "UNSIGNED-PAYLOAD" && said != sha256_hex(call.request->body))
    throw ProtocolViolation(401, kCode, "X-Sdk-Content-Sha256 is not that of the body");
}

void check_time(const Call& call, const SimulatedWorld& world) {
  const auto time = parse_time(call.request->header("x-sdk-date").value_or(""), kCompactTime);
  if (!time) throw ProtocolViolation(401, kCode, "X-Sdk-Date is missing or malformed");
  const auto off = world.wall_clock() - *time;
  if (off > kSkew || off < -kSkew) throw refused("signature expired");
}

}  // namespace

const Account& authenticate(const Call& call, const SimulatedWorld& world) {
  const Claim claim = read_claim(call.request->header("authorization").value_or(""));
  check_form(call, claim);
  check_time(call, world);
  const auto account = std::ranges::find_if(world.accounts, [&](const Account& each) {
    return each.vendor == "huawei" && each.access_key == claim.credential;
  });
  if (account == world.accounts.end()) throw refused("get secretKey by ak error");
  const std::string expected =
      sdk_hmac::signature(account->secret_key, call.request->header("x-sdk-date").value_or(""),
                          sdk_hmac::canonical_request(*call.request, claim.signed_headers));
  if (expected != claim.signature) throw refused("verify aksk signature fail");
  if (call.request->header("x-security-token").value_or("") != account->token)
    throw refused("decrypt token fail");
  if (account->expired) throw refused("the security token has expired");
  return *account;
}

}  // namespace fastgpu::cloudsim::huawei
