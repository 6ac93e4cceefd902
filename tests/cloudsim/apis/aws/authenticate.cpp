#include "cloudsim/apis/aws/authenticate.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/world/times.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

constexpr auto kSkew = std::chrono::minutes(5);

enum class Reason : std::uint8_t { unknown_key, wrong_token, wrong_signature, too_old, expired };

/// Returns the refusal for `reason`, whose code differs between the protocols.
Refusal refusal(const Call& call, Reason reason, const std::string& message) {
  const bool ec2 = call.service == "ec2";
  const bool sts = call.service == "sts";
  switch (reason) {
    case Reason::unknown_key:
    case Reason::wrong_token:
      if (ec2)
        return {401, "AuthFailure", "AWS was not able to validate the provided access credentials"};
      if (sts) return {403, "InvalidClientTokenId", message};
      return {400, "UnrecognizedClientException", message};
    case Reason::wrong_signature:
      if (ec2 || sts) return {403, "SignatureDoesNotMatch", message};
      return {400, "InvalidSignatureException", message};
    case Reason::too_old:
      if (ec2) return {400, "RequestExpired", message};
      if (sts) return {403, "SignatureDoesNotMatch", message};
      return {400, "InvalidSignatureException", message};
    case Reason::expired:
      if (ec2) return {400, "RequestExpired", "Request has expired."};
      return {ec2 || sts ? 403 : 400, sts ? "ExpiredToken" : "ExpiredTokenException",
              "The security token included in the request is expired"};
  }
  return {500, "InternalError", message};
}

void check_time(const Call& call, const Claim& claim, const SimulatedWorld& world) {
  const std::string text = call.request->header("x-amz-date").value_or("");
  const auto time = parse_time(text, kCompactTime);
  if (!time)
    throw ProtocolViolation(400, "IncompleteSignature", "X-Amz-Date is missing or malformed");
  const auto off = world.wall_clock() - *time;
  if (off > kSkew || off < -kSkew)
    throw refusal(call, Reason::too_old,
                  "Signature expired: " + text + " is more than 5 minutes off the server's time");
  if (claim.part(1) != text.substr(0, 8))
    throw refusal(call, Reason::wrong_signature,
                  "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date");
}

void check_form(const Call& call, const Claim& claim) {
  const auto is_signed = [&](std::string_view name) {
    return contains(claim.signed_headers, name);
  };
  if (claim.part(4) != "aws4_request" || claim.signature.size() != 64)
    throw ProtocolViolation(400, "IncompleteSignature", "the Authorization header is malformed");
  for (const auto& [name, value] : call.request->headers) {
    const bool needed = name == "host" || name == "x-amz-date" || name == "x-amz-security-token" ||
                        name == "x-amz-target";
    if (needed && !is_signed(name))
      throw ProtocolViolation(400, "IncompleteSignature", "the header " + name + " is not signed");
  }
  if (!std::ranges::is_sorted(claim.signed_headers))
    throw ProtocolViolation(400, "IncompleteSignature", "SignedHeaders are not sorted");
}

std::string body_hash(const Call& call) {
  const std::string actual = sha256_hex(call.request->body);
  const std::string said = call.request->header("x-amz-content-sha256").value_or(actual);
  if (said != actual && said != "UNSIGNED-PAYLOAD")
    throw ProtocolViolation(400, "XAmzContentSHA256Mismatch",
                            "The provided 'x-amz-content-sha256' header does not match the body");
  return said;
}

}  // namespace

const Account& authenticate(const Call& call, const SimulatedWorld& world) {
  const Claim claim = read_claim(call.request->header("authorization").value_or(""));
  check_form(call, claim);
  const auto account = std::ranges::find_if(world.accounts, [&](const Account& each) {
    return each.vendor == "aws" && each.access_key == claim.part(0);
  });
  if (account == world.accounts.end())
    throw refusal(call, Reason::unknown_key,
                  "The security token included in the request is invalid.");
  check_time(call, claim, world);
  const std::string canonical =
      sigv4::canonical_request(*call.request, claim.signed_headers, body_hash(call));
  const std::string scope =
      claim.part(1) + "/" + claim.part(2) + "/" + claim.part(3) + "/" + claim.part(4);
  const std::string expected = sigv4::signature(
      account->secret_key, call.request->header("x-amz-date").value_or(""), scope, canonical);
  if (expected != claim.signature)
    throw refusal(call, Reason::wrong_signature,
                  "The request signature we calculated does not match the signature you provided. "
                  "Check your AWS Secret Access Key and signing method.");
  if (!world.catalogues.at("aws").regions.contains(call.region))
    throw refusal(call, Reason::wrong_signature,
                  "Credential should be scoped to a valid region, not '" + call.region + "'.");
  if (account->expired) throw refusal(call, Reason::expired, "");
  if (call.request->header("x-amz-security-token").value_or("") != account->token)
    throw refusal(call, Reason::wrong_token,
                  "The security token included in the request is invalid.");
  return *account;
}

}  // namespace fastgpu::cloudsim::aws
