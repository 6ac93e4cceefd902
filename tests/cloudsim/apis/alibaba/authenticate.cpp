#include "cloudsim/apis/alibaba/authenticate.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/world/times.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

constexpr auto kSkew = std::chrono::minutes(15);

/// Throws unless Host, Content-Type and all headers that begin with x-acs- are signed.
void check_form(const Request& request, const Claim& claim) {
  const auto is_signed = [&](const std::string& name) {
    return contains(claim.signed_headers, name);
  };
  if (claim.signature.size() != 64 || !std::ranges::is_sorted(claim.signed_headers))
    throw ProtocolViolation(400, "IncompleteSignature", "The Authorization header is malformed.");
  for (const auto& [name, value] : request.headers)
    if ((name == "host" || name.starts_with("x-acs-")) && !is_signed(name))
      throw ProtocolViolation(400, "IncompleteSignature", "The header " + name + " is not signed.");
  for (const char* name : {"x-acs-action", "x-acs-version", "x-acs-date", "x-acs-signature-nonce",
                           "x-acs-content-sha256"})
    if (request.header(name).value_or("").empty())
      throw ProtocolViolation(400, "MissingParameter",
                              std::string("The header ") + name + " is missing.");
  if (request.header("x-acs-content-sha256") != sha256_hex(request.body))
    throw ProtocolViolation(400, "SignatureDoesNotMatch",
                            "x-acs-content-sha256 is not that of the body.");
}

void check_time(const Request& request, const SimulatedWorld& world) {
  const std::string text = request.header("x-acs-date").value_or("");
  const auto time = parse_time(text);
  if (!time) throw ProtocolViolation(400, "InvalidTimeStamp.Format", "x-acs-date is malformed.");
  const auto off = world.wall_clock() - *time;
  if (off > kSkew || off < -kSkew)
    throw Refusal(400, "InvalidTimeStamp.Expired",
                  "Specified time stamp or date value is expired.");
}

void check_token(const Request& request, const Account& account) {
  const std::string token = request.header("x-acs-security-token").value_or("");
  if (account.expired)
    throw Refusal(400, "InvalidSecurityToken.Expired", "Specified SecurityToken is expired.");
  if (token != account.token)
    throw Refusal(400, "InvalidSecurityToken.MismatchWithAccessKey",
                  "Specified SecurityToken mismatch with the AccessKey.");
}

}  // namespace

const Account& authenticate(const Call& call, const SimulatedWorld& world,
                            std::set<std::string>& used) {
  const Request& request = *call.request;
  const Claim claim = read_claim(request.header("authorization").value_or(""));
  check_form(request, claim);
  check_time(request, world);
  const auto account = std::ranges::find_if(world.accounts, [&](const Account& each) {
    return each.vendor == "alibaba" && each.access_key == claim.credential;
  });
  if (account == world.accounts.end())
    throw Refusal(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found.");
  if (!used.insert(request.header("x-acs-signature-nonce").value_or("")).second)
    throw Refusal(400, "SignatureNonceUsed", "Specified signature nonce was used already.");
  const std::string canonical = acs3::canonical_request(request, claim.signed_headers);
  if (acs3::signature(account->secret_key, canonical) != claim.signature)
    throw Refusal(400, "SignatureDoesNotMatch",
                  "Specified signature is not matched with our calculation.");
  check_token(request, *account);
  return *account;
}

}  // namespace fastgpu::cloudsim::alibaba
