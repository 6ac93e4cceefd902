#include "provision/providers/aws/aws_dialect.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "provision/cloud/answer.hpp"
#include "provision/providers/aws/xml.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::CodeMeaning;
using cloud::Failure;
using cloud::FailureKind;

// From EC2's list of error codes. The first row whose prefix fits counts.
constexpr std::array kMeanings = {
    CodeMeaning{"RequestLimitExceeded", FailureKind::throttled},
    CodeMeaning{"EC2ThrottledException", FailureKind::throttled},
    CodeMeaning{"Throttling", FailureKind::throttled},
    CodeMeaning{"TooManyRequestsException", FailureKind::throttled},
    CodeMeaning{"InternalError", FailureKind::busy},
    CodeMeaning{"InternalFailure", FailureKind::busy},
    CodeMeaning{"ServiceUnavailable", FailureKind::busy},
    CodeMeaning{"Unavailable", FailureKind::busy},
    CodeMeaning{"SlowDown", FailureKind::throttled},
    CodeMeaning{"InsufficientInstanceCapacity", FailureKind::stock},
    CodeMeaning{"InsufficientHostCapacity", FailureKind::stock},
    CodeMeaning{"InsufficientReservedInstanceCapacity", FailureKind::stock},
    CodeMeaning{"InsufficientCapacity", FailureKind::stock},
    CodeMeaning{"UnfulfillableCapacity", FailureKind::stock},
    CodeMeaning{"UnsupportedOperation", FailureKind::invalid},  // Stopping what cannot be stopped.
    CodeMeaning{"Unsupported", FailureKind::stock},
    CodeMeaning{"SpotMaxPriceTooLow", FailureKind::price},
    CodeMeaning{"InsufficientFreeAddressesInSubnet", FailureKind::quota},
    CodeMeaning{"InsufficientAddressCapacity", FailureKind::stock},
    CodeMeaning{"VcpuLimitExceeded", FailureKind::quota},
    CodeMeaning{"InstanceLimitExceeded", FailureKind::quota},
    CodeMeaning{"MaxSpotInstanceCountExceeded", FailureKind::quota},
    CodeMeaning{"AddressLimitExceeded", FailureKind::quota},
    CodeMeaning{"VpcLimitExceeded", FailureKind::quota},
    CodeMeaning{"InternetGatewayLimitExceeded", FailureKind::quota},
    CodeMeaning{"SecurityGroupLimitExceeded", FailureKind::quota},
    CodeMeaning{"PendingVerification", FailureKind::permission},
    CodeMeaning{"OptInRequired", FailureKind::permission},
    CodeMeaning{"UnauthorizedOperation", FailureKind::permission},
    CodeMeaning{"AccessDenied", FailureKind::permission},
    CodeMeaning{"RequestExpired", FailureKind::clock_skew},
    CodeMeaning{"AuthFailure", FailureKind::credentials},
    CodeMeaning{"InvalidClientTokenId", FailureKind::credentials},
    CodeMeaning{"UnrecognizedClientException", FailureKind::credentials},
    CodeMeaning{"SignatureDoesNotMatch", FailureKind::credentials},
    CodeMeaning{"InvalidSignatureException", FailureKind::credentials},
    CodeMeaning{"ExpiredToken", FailureKind::credentials},
    CodeMeaning{"IncompleteSignature", FailureKind::credentials},
    CodeMeaning{"MissingAuthenticationToken", FailureKind::credentials},
    CodeMeaning{"InvalidAMIName.Duplicate", FailureKind::name_taken},
    CodeMeaning{"InvalidAMIID.Unavailable", FailureKind::not_found},
    CodeMeaning{"InvalidPermission.Duplicate", FailureKind::done_already},
    CodeMeaning{"Resource.AlreadyAssociated", FailureKind::done_already},
    CodeMeaning{"DependencyViolation", FailureKind::in_use},
    CodeMeaning{"InvalidGroup.InUse", FailureKind::in_use},
    CodeMeaning{"InvalidPlacementGroup.InUse", FailureKind::in_use},
    CodeMeaning{"IncorrectInstanceState", FailureKind::busy},
    CodeMeaning{"IncorrectState", FailureKind::busy},
    CodeMeaning{"ConcurrentTagAccess", FailureKind::busy},
    CodeMeaning{"IdempotentParameterMismatch", FailureKind::token_used},
    CodeMeaning{"IdempotentInstanceTerminated", FailureKind::token_used},
    CodeMeaning{"DryRunOperation", FailureKind::dry_run_passed},
    CodeMeaning{"Gateway.NotAttached", FailureKind::not_found},
    CodeMeaning{"ParameterNotFound", FailureKind::not_found},
    CodeMeaning{"NoSuchResourceException", FailureKind::not_found},
};

/// `{"__type": "prefix#Code", "message": ...}`, of the JSON services.
std::optional<Failure> failure_in_json(const http::Response& response) {
  const auto document = nlohmann::json::parse(response.body, nullptr, false);
  const cloud::Answer answer(document);
  std::string code = answer["__type"].text();
  code.erase(0, code.find('#') == std::string::npos ? 0 : code.find('#') + 1);
  if (code.empty()) return std::nullopt;
  return Failure{.kind = kind_of(code, response.status),
                 .code = code,
                 .message = answer["message"].text() + answer["Message"].text()};
}

/// <Response><Errors><Error>, or <ErrorResponse><Error> of the security token service.
std::optional<Failure> failure_in_xml(const http::Response& response) {
  const auto document = parse_xml(response.body);
  if (!document) return std::nullopt;
  const pugi::xml_node root = document->document_element();
  pugi::xml_node error = root.child("Errors").child("Error");
  if (!error) error = root.child("Error");
  if (!error) return std::nullopt;
  const std::string code = error.child_value("Code");
  return Failure{.kind = kind_of(code, response.status),
                 .code = code,
                 .message = error.child_value("Message")};
}

/// Spares the reading of long answers.
bool may_hold_an_error(const std::string& body) {
  return body.find("<Error>") != std::string::npos || body.find("\"__type\"") != std::string::npos;
}

/// Its name; empty where there is none.
std::string_view first_element(std::string_view document) {
  for (std::size_t at = document.find('<'); at != document.npos; at = document.find('<', at + 1)) {
    const std::string_view rest = document.substr(at + 1);
    if (!rest.starts_with('?') && !rest.starts_with('!'))
      return rest.substr(0, rest.find_first_of(" \t\r\n/>"));
  }
  return {};
}

}  // namespace

cloud::FailureKind kind_of(std::string_view code, int status) {
  for (const CodeMeaning& row : kMeanings)
    if (code.starts_with(row.prefix)) return row.kind;
  if (code.ends_with(".NotFound") || code.find(".NotFound") != std::string_view::npos)
    return FailureKind::not_found;
  if (status == 429) return FailureKind::throttled;
  if (status >= 500) return FailureKind::busy;
  return FailureKind::invalid;
}

void AwsDialect::sign(http::Request& request, const cloud::Call& call, const signing::Keys& keys,
                      std::chrono::system_clock::time_point now) const {
  signing::sign_aws_v4(request, keys, call.region, call.service, now);
}

/// EC2 and the security token service tell it in the document alone: <requestId> of an answer,
/// <RequestID> or <RequestId> of a refusal.
std::string AwsDialect::request_id(const http::Response& response) const {
  for (const char* name : {"x-amzn-RequestId", "x-amz-request-id"})
    if (const auto id = response.header(name)) return std::string(*id);
  for (const std::string name : {"requestId", "RequestID", "RequestId"}) {
    const auto begin = response.body.find("<" + name + ">");
    if (begin == std::string::npos) continue;
    const auto from = begin + name.size() + 2;
    const auto end = response.body.find("</" + name + ">", from);
    if (end != std::string::npos) return response.body.substr(from, end - from);
  }
  return {};
}

std::optional<Failure> AwsDialect::failure_in(const http::Response& response) const {
  const bool is_success = response.status / 100 == 2;
  if (is_success && !may_hold_an_error(response.body)) return std::nullopt;
  const bool is_json = response.body.starts_with('{');
  auto failure = is_json ? failure_in_json(response) : failure_in_xml(response);
  if (!failure && is_success) return std::nullopt;
  if (!failure)
    failure = Failure{.kind = kind_of("", response.status),
                      .code = "HTTP " + std::to_string(response.status)};
  if (response.status == 503 && failure->kind == FailureKind::invalid)
    failure->kind = FailureKind::busy;
  failure->request_id = request_id(response);
  return failure;
}

/// The query services call their documents after the action: <RunInstancesResponse>.
bool AwsDialect::is_answer(const http::Response& response, const cloud::Call& call) const {
  const bool is_query = call.service == "ec2" || call.service == "sts";
  return is_query ? first_element(response.body).ends_with("Response")
                  : nlohmann::json::parse(response.body, nullptr, false).is_object();
}

}  // namespace fastgpu::provision::aws
