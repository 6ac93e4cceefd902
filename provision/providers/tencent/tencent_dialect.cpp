#include "provision/providers/tencent/tencent_dialect.hpp"

#include <array>

#include "provision/cloud/answer.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::CodeMeaning;
using cloud::Failure;
using cloud::FailureKind;

// Error codes of CVM, VPC and STS whose words have no known meaning, or a misleading one. The first
// row whose prefix fits counts.
constexpr std::array kExceptions = {
    CodeMeaning{"InternalError", FailureKind::busy},
    CodeMeaning{"MutexOperation", FailureKind::busy},
    CodeMeaning{"ResourceInsufficient.CidrBlock", FailureKind::quota},
    CodeMeaning{"ResourceInsufficient.DisasterRecoverGroupCvmQuota", FailureKind::quota},
    CodeMeaning{"ResourceInsufficient.InsufficientGroupQuota", FailureKind::quota},
    CodeMeaning{"ResourceInsufficient", FailureKind::stock},
    CodeMeaning{"ResourcesSoldOut", FailureKind::stock},
    CodeMeaning{"ResourceUnavailable.InstanceType", FailureKind::stock},
    CodeMeaning{"ResourceNotFound.InvalidZoneInstanceType", FailureKind::stock},
    CodeMeaning{"InvalidParameterValue.InvalidImageForGivenInstanceType", FailureKind::invalid},
    CodeMeaning{"LimitExceeded.ActionLimited", FailureKind::throttled},
    CodeMeaning{"LimitExceeded", FailureKind::quota},
    CodeMeaning{"InvalidParameterValue.LimitExceeded", FailureKind::invalid},  // A page's limit.
    CodeMeaning{"InvalidFilterValue.LimitExceeded", FailureKind::invalid},
    CodeMeaning{"UnsupportedOperation.NotSupportUnpaidOrder", FailureKind::money},
    CodeMeaning{"AuthFailure.SignatureExpire", FailureKind::clock_skew},
    CodeMeaning{"AuthFailure.UnauthorizedOperation", FailureKind::permission},
    CodeMeaning{"AuthFailure.CamRoleName", FailureKind::permission},
    CodeMeaning{"AuthFailure", FailureKind::credentials},
    CodeMeaning{"UnauthorizedOperation.InvalidToken", FailureKind::credentials},
    CodeMeaning{"InvalidPermission", FailureKind::permission},
    CodeMeaning{"OperationDenied.AccountNotSupported", FailureKind::account},
    CodeMeaning{"UnsupportedOperation.AccountNotSupported", FailureKind::account},
    CodeMeaning{"UnsupportedRegion", FailureKind::not_found},
    CodeMeaning{"InvalidImageId.IncorrectState", FailureKind::in_use},
    CodeMeaning{"UnsupportedOperation.InstanceStateTerminat", FailureKind::not_found},
    CodeMeaning{"UnsupportedOperation.InstanceState", FailureKind::in_use},
    CodeMeaning{"InvalidInstanceState", FailureKind::in_use},
};

/// Returns a text in the answer's member "Response", which has all content.
std::string text_in(const cloud::JsonAnswer& document, const char* one,
                    const char* other = nullptr) {
  const cloud::Answer member = document["Response"][one];
  return other == nullptr ? member.text() : member[other].text();
}

cloud::JsonAnswer document_of(const http::Response& response) {
  return cloud::JsonAnswer::parse(response.body);
}

bool has_error(const cloud::JsonAnswer& document) {
  return !document["Response"]["Error"].is_null();
}

}  // namespace

std::string_view version_of(std::string_view service) {
  return service == "sts" || service == "tag" ? "2018-08-13" : "2017-03-12";
}

FailureKind kind_of(std::string_view code, int status, std::string_view message) {
  return cloud::kind_of_failure(code, message, status, kExceptions);
}

void TencentDialect::sign(http::Request& request, const cloud::CloudCall& call,
                          const signing::Keys& keys,
                          std::chrono::system_clock::time_point now) const {
  signing::sign_tencent(request, keys, call.service, now);
}

std::string TencentDialect::request_id(const http::Response& response) const {
  return text_in(document_of(response), "RequestId");
}

std::optional<Failure> TencentDialect::failure_in(const http::Response& response) const {
  const cloud::JsonAnswer document = document_of(response);
  if (response.status / 100 == 2 && !has_error(document)) return std::nullopt;
  Failure failure{.code = text_in(document, "Error", "Code"),
                  .message = text_in(document, "Error", "Message"),
                  .request_id = text_in(document, "RequestId")};
  failure.kind = kind_of(failure.code, response.status, failure.message);
  if (failure.code.empty()) failure.code = "HTTP " + std::to_string(response.status);
  return failure;
}

bool TencentDialect::is_answer(const http::Response& response,
                               const cloud::CloudCall& /*call*/) const {
  return !text_in(document_of(response), "RequestId").empty();
}

}  // namespace fastgpu::provision::tencent
