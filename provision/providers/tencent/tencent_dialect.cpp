#include "provision/providers/tencent/tencent_dialect.hpp"

#include <array>

#include "provision/cloud/answer.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::CodeMeaning;
using cloud::Failure;
using cloud::FailureKind;

// From the error codes of CVM, VPC and STS. The first row whose prefix fits counts.
constexpr std::array kMeanings = {
    CodeMeaning{"RequestLimitExceeded", FailureKind::throttled},
    CodeMeaning{"LimitExceeded.ActionLimited", FailureKind::throttled},
    CodeMeaning{"InternalError", FailureKind::busy},
    CodeMeaning{"InternalServerError", FailureKind::busy},
    CodeMeaning{"ServiceUnavailable", FailureKind::busy},
    CodeMeaning{"MutexOperation", FailureKind::busy},
    CodeMeaning{"OperationDenied.InstanceOperationInProgress", FailureKind::busy},
    CodeMeaning{"UnsupportedOperation.TaskRunning", FailureKind::busy},
    CodeMeaning{"InvalidParameterValue.InsufficientPrice", FailureKind::price},
    CodeMeaning{"ResourceInsufficient.CidrBlock", FailureKind::quota},
    CodeMeaning{"ResourceInsufficient.DisasterRecoverGroupCvmQuota", FailureKind::quota},
    CodeMeaning{"ResourceInsufficient.InsufficientGroupQuota", FailureKind::quota},
    CodeMeaning{"ResourceInsufficient", FailureKind::stock},
    CodeMeaning{"ResourcesSoldOut", FailureKind::stock},
    CodeMeaning{"ResourceUnavailable.InstanceType", FailureKind::stock},
    CodeMeaning{"ResourceNotFound.InvalidZoneInstanceType", FailureKind::stock},
    CodeMeaning{"InvalidParameterValue.InsufficientOffering", FailureKind::stock},
    CodeMeaning{"InvalidParameterValue.ZoneNotSupported", FailureKind::stock},
    CodeMeaning{"InvalidParameter.InvalidCloudDiskSoldOut", FailureKind::stock},
    CodeMeaning{"UnsupportedOperation.NoInstanceTypeSupportSpot", FailureKind::stock},
    CodeMeaning{"LimitExceeded", FailureKind::quota},
    CodeMeaning{"OverQuota", FailureKind::quota},
    CodeMeaning{"InstancesQuotaLimitExceeded", FailureKind::quota},
    CodeMeaning{"AddressQuotaLimitExceeded", FailureKind::quota},
    CodeMeaning{"InvalidParameterValue.ExternalIpQuotaLimited", FailureKind::quota},
    CodeMeaning{"InvalidParameterValue.TagQuotaLimitExceeded", FailureKind::quota},
    CodeMeaning{"FailedOperation.NoAvailableIpAddressCountInSubnet", FailureKind::quota},
    CodeMeaning{"UnsupportedOperation.InsufficientClusterQuota", FailureKind::quota},
    CodeMeaning{"InvalidAccount.InsufficientBalance", FailureKind::money},
    CodeMeaning{"InvalidAccount.UnpaidOrder", FailureKind::money},
    CodeMeaning{"FailedOperation.BalanceInsufficient", FailureKind::money},
    CodeMeaning{"UnsupportedOperation.NotSupportUnpaidOrder", FailureKind::money},
    CodeMeaning{"AuthFailure.SignatureExpire", FailureKind::clock_skew},
    CodeMeaning{"AuthFailure.UnauthorizedOperation", FailureKind::permission},
    CodeMeaning{"AuthFailure.CamRoleName", FailureKind::permission},
    CodeMeaning{"AuthFailure", FailureKind::credentials},
    CodeMeaning{"UnauthorizedOperation.InvalidToken", FailureKind::credentials},
    CodeMeaning{"UnauthorizedOperation", FailureKind::permission},
    CodeMeaning{"InvalidPermission", FailureKind::permission},
    CodeMeaning{"OperationDenied.AccountNotSupported", FailureKind::permission},
    CodeMeaning{"AccountQualificationRestrictions", FailureKind::permission},
    CodeMeaning{"UnsupportedRegion", FailureKind::not_found},
    CodeMeaning{"InvalidParameterValue.VpcIdNotExist", FailureKind::not_found},
    CodeMeaning{"InvalidParameterValue.SubnetNotExist", FailureKind::not_found},
    CodeMeaning{"InvalidImageName.Duplicate", FailureKind::name_taken},
    CodeMeaning{"ImageQuotaLimitExceeded", FailureKind::quota},
    CodeMeaning{"InvalidImageId.IncorrectState", FailureKind::in_use},
    CodeMeaning{"UnsupportedOperation.InstanceStateTerminat", FailureKind::not_found},
    CodeMeaning{"UnsupportedOperation.InstanceState", FailureKind::in_use},
    CodeMeaning{"InvalidInstanceState", FailureKind::in_use},
    CodeMeaning{"ResourceInUse", FailureKind::in_use},
    CodeMeaning{"UnsupportedOperation.ResourceInUse", FailureKind::in_use},
};

/// Its member "Response", in which everything stands.
std::string text_in(const nlohmann::json& document, const char* one, const char* other = nullptr) {
  const cloud::Answer member = cloud::Answer(document)["Response"][one];
  return other == nullptr ? member.text() : member[other].text();
}

nlohmann::json document_of(const http::Response& response) {
  return nlohmann::json::parse(response.body, nullptr, false);
}

bool has_error(const nlohmann::json& document) {
  const nlohmann::json::json_pointer error("/Response/Error");
  return document.is_object() && document.contains(error) && !document[error].is_null();
}

}  // namespace

std::string_view version_of(std::string_view service) {
  return service == "sts" || service == "tag" ? "2018-08-13" : "2017-03-12";
}

FailureKind kind_of(std::string_view code, int status) {
  for (const CodeMeaning& row : kMeanings)
    if (code.starts_with(row.prefix)) return row.kind;
  if (code.find("NotFound") != std::string_view::npos) return FailureKind::not_found;
  if (status == 429) return FailureKind::throttled;
  return status >= 500 ? FailureKind::busy : FailureKind::invalid;
}

void TencentDialect::sign(http::Request& request, const cloud::Call& call,
                          const signing::Keys& keys,
                          std::chrono::system_clock::time_point now) const {
  signing::sign_tencent(request, keys, call.service, now);
}

std::string TencentDialect::request_id(const http::Response& response) const {
  return text_in(document_of(response), "RequestId");
}

std::optional<Failure> TencentDialect::failure_in(const http::Response& response) const {
  const nlohmann::json document = document_of(response);
  if (response.status / 100 == 2 && !has_error(document)) return std::nullopt;
  Failure failure{.code = text_in(document, "Error", "Code"),
                  .message = text_in(document, "Error", "Message"),
                  .request_id = text_in(document, "RequestId")};
  failure.kind = kind_of(failure.code, response.status);
  if (failure.code.empty()) failure.code = "HTTP " + std::to_string(response.status);
  return failure;
}

bool TencentDialect::is_answer(const http::Response& response, const cloud::Call& /*call*/) const {
  return !text_in(document_of(response), "RequestId").empty();
}

}  // namespace fastgpu::provision::tencent
