#include "provision/providers/aws/aws_dialect.hpp"

#include <array>

#include "provision/cloud/answer.hpp"
#include "provision/providers/aws/xml.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::CodeMeaning;
using cloud::Failure;
using cloud::FailureKind;

// Error codes of EC2 whose words have no known meaning, or a misleading one. The first row whose
// prefix fits counts.
constexpr std::array kExceptions = {
    CodeMeaning{"EC2ThrottledException", FailureKind::throttled},
    CodeMeaning{"InvalidAMIID.Unavailable", FailureKind::not_found},
    CodeMeaning{"InvalidPermission.NotFound", FailureKind::not_found},
    CodeMeaning{"InvalidPermission.Duplicate", FailureKind::done_already},
    CodeMeaning{"InvalidPermission", FailureKind::invalid},
    CodeMeaning{"OperationNotPermitted", FailureKind::invalid},  // The machine is protected.
    CodeMeaning{"UnsupportedOperation", FailureKind::invalid},   // The machine cannot be stopped.
    CodeMeaning{"Unsupported", FailureKind::stock},
    CodeMeaning{"Unavailable", FailureKind::busy},
    CodeMeaning{"SpotMaxPriceTooLow", FailureKind::price},
    CodeMeaning{"AuthFailure.ServiceLinkedRole", FailureKind::permission},
    CodeMeaning{"AuthFailure", FailureKind::credentials},
    CodeMeaning{"IncompleteSignature", FailureKind::credentials},
    CodeMeaning{"RequestExpired", FailureKind::clock_skew},
    CodeMeaning{"IncorrectInstanceState", FailureKind::busy},
    CodeMeaning{"DryRunOperation", FailureKind::dry_run_passed},
    CodeMeaning{"Gateway.NotAttached", FailureKind::not_found},
    CodeMeaning{"VPCIdNotSpecified", FailureKind::not_found},
    CodeMeaning{"InsufficientCapacityOnHost", FailureKind::stock},
    CodeMeaning{"MaxConfigLimit", FailureKind::quota},
};

/// Returns the refusal in `{"__type": "prefix#Code", "message": ...}`, the form of the JSON
/// services.
std::optional<Failure> failure_in_json(const http::Response& response) {
  const auto document = cloud::JsonAnswer::parse(response.body);
  const cloud::Answer answer = document.root();
  std::string code = answer["__type"].text();
  code.erase(0, code.find('#') == std::string::npos ? 0 : code.find('#') + 1);
  if (code.empty()) return std::nullopt;
  const std::string message = answer["message"].text() + answer["Message"].text();
  return Failure{.kind = kind_of(code, response.status, message), .code = code, .message = message};
}

/// Returns the refusal in <Response><Errors><Error>, or in <ErrorResponse><Error> of the security
/// token service.
std::optional<Failure> failure_in_xml(const http::Response& response) {
  const auto document = parse_xml(response.body);
  if (!document) return std::nullopt;
  const pugi::xml_node root = document->document_element();
  pugi::xml_node error = root.child("Errors").child("Error");
  if (!error) error = root.child("Error");
  if (!error) return std::nullopt;
  const std::string code = error.child_value("Code");
  const std::string message = error.child_value("Message");
  return Failure{.kind = kind_of(code, response.status, message), .code = code, .message = message};
}

/// Returns false for most answers without an error, without parsing them.
bool may_hold_an_error(const std::string& body) {
  return body.find("<Error>") != std::string::npos || body.find("\"__type\"") != std::string::npos;
}

/// Returns the name of the document's first element; empty without one.
std::string_view first_element(std::string_view document) {
  for (std::size_t at = document.find('<'); at != document.npos; at = document.find('<', at + 1)) {
    const std::string_view rest = document.substr(at + 1);
    if (!rest.starts_with('?') && !rest.starts_with('!'))
      return rest.substr(0, rest.find_first_of(" \t\r\n/>"));
  }
  return {};
}

}  // namespace

cloud::FailureKind kind_of(std::string_view code, int status, std::string_view message) {
  return cloud::kind_of_failure(code, message, status, kExceptions);
}

void AwsDialect::sign(http::Request& request, const cloud::CloudCall& call,
                      const signing::Keys& keys, std::chrono::system_clock::time_point now) const {
  signing::sign_aws_v4(request, keys, call.region, call.service, now);
}

/// Returns the id from a header, or from the document: EC2 and the security token service have it
/// only there, as <requestId> of an answer, <RequestID> or <RequestId> of a refusal.
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

/// Returns true for the expected form. The query services name their documents after the action:
/// <RunInstancesResponse>.
bool AwsDialect::is_answer(const http::Response& response, const cloud::CloudCall& call) const {
  const bool is_query = call.service == "ec2" || call.service == "sts";
  return is_query ? first_element(response.body).ends_with("Response")
                  : cloud::JsonAnswer::parse(response.body).root().is_object();
}

}  // namespace fastgpu::provision::aws
