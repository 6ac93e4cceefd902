#include "cloudsim/apis/tencent/authenticate.hpp"

#include <algorithm>
#include <charconv>

#include "base/contains.hpp"
#include "cloudsim/apis/tencent/call.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

constexpr auto kSkew = std::chrono::minutes(5);

void check_form(const Claim& claim) {
  const auto is_signed = [&](std::string_view name) {
    return contains(claim.signed_headers, name);
  };
  if (claim.part(3) != "tc3_request" || claim.signature.size() != 64)
    throw violation("AuthFailure.InvalidAuthorization", "The Authorization header is malformed.");
  if (!is_signed("content-type") || !is_signed("host"))
    throw violation("AuthFailure.InvalidAuthorization", "content-type and host must be signed.");
}

void check_time(const Call& call, const Claim& claim, const SimulatedWorld& world) {
  const std::string text = call.request->header("x-tc-timestamp").value_or("");
  std::int64_t seconds = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, seconds).ptr != end)
    throw violation("MissingParameter", "X-TC-Timestamp is missing or no number.");
  const Time time{std::chrono::seconds(seconds)};
  const auto off = world.wall_clock() - time;
  if (off > kSkew || off < -kSkew)
    throw refusal("AuthFailure.SignatureExpire",
                  "The signature has expired: the timestamp is more than 5 minutes off.");
  if (claim.part(1) != iso_time(time).substr(0, 10))
    throw refusal("AuthFailure.SignatureFailure",
                  "The date of the credential is not that of the timestamp, in UTC.");
}

/// Returns true if the signature is valid. Some of the vendor's kits sign the host without the
/// port.
bool matches(const Call& call, const Claim& claim, const std::string& secret) {
  const std::string timestamp = call.request->header("x-tc-timestamp").value_or("");
  const std::string scope = claim.part(1) + "/" + claim.part(2) + "/" + claim.part(3);
  const auto good = [&](const Request& request) {
    return tc3::signature(secret, timestamp, scope,
                          tc3::canonical_request(request, claim.signed_headers)) == claim.signature;
  };
  if (good(*call.request)) return true;
  Request bare = *call.request;
  for (auto& [name, value] : bare.headers)
    if (name == "host") value = value.substr(0, value.find(':'));
  return good(bare);
}

}  // namespace

const Account& authenticate(const Call& call, const SimulatedWorld& world) {
  const Claim claim = read_claim(call.request->header("authorization").value_or(""));
  check_form(claim);
  check_time(call, claim, world);
  const auto account = std::ranges::find_if(world.accounts, [&](const Account& each) {
    return each.vendor == "tencent" && each.access_key == claim.part(0);
  });
  if (account == world.accounts.end())
    throw refusal("AuthFailure.SecretIdNotFound", "The SecretId is not found.");
  if (!matches(call, claim, account->secret_key))
    throw refusal("AuthFailure.SignatureFailure",
                  "The provided credentials could not be validated. Please check your signature is "
                  "correct.");
  const bool right_token = call.request->header("x-tc-token").value_or("") == account->token;
  if (account->expired || !right_token)
    throw refusal("AuthFailure.TokenFailure", "The token is wrong or has expired.");
  return *account;
}

}  // namespace fastgpu::cloudsim::tencent
