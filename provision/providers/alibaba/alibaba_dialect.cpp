#include "provision/providers/alibaba/alibaba_dialect.hpp"

#include <algorithm>
#include <array>

#include "base/numbers.hpp"
#include "provision/cloud/answer.hpp"
#include "provision/ids.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using cloud::CodeMeaning;
using cloud::Failure;
using cloud::FailureKind;
using std::chrono::milliseconds;

// Error codes of ECS, VPC and STS whose words have no known meaning, or a misleading one. The first
// row whose prefix fits counts.
constexpr std::array kExceptions = {
    CodeMeaning{"SignatureNonceUsed", FailureKind::busy},
    CodeMeaning{"LastTokenProcessing", FailureKind::busy},
    CodeMeaning{"InvalidInstanceType.ValueNotSupported", FailureKind::stock},
    // A type of disk that the cloud never has; "InvalidDiskCategory.NotSupported" is about a zone.
    CodeMeaning{"InvalidDataDiskCategory.ValueNotSupported", FailureKind::invalid},
    CodeMeaning{"InvalidSystemDiskCategory.ValueNotSupported", FailureKind::invalid},
    CodeMeaning{"OperationDenied.ResourceControl", FailureKind::stock},
    CodeMeaning{"OperationDenied.SpotPriceLowerThanPublicPrice", FailureKind::price},
    CodeMeaning{"InvalidSpotPriceLimit", FailureKind::price},
    CodeMeaning{"InvalidSpotAliUid", FailureKind::account},
    CodeMeaning{"Zone.NotOpen", FailureKind::stock},
    CodeMeaning{"InstanceType.Offline", FailureKind::stock},
    CodeMeaning{"InvalidAccountStatus.NotEnoughBalance", FailureKind::money},
    CodeMeaning{"InvalidAccountStatus", FailureKind::account},
    CodeMeaning{"Account.Arrearage", FailureKind::money},
    CodeMeaning{"InvalidAccessKeyId", FailureKind::credentials},
    CodeMeaning{"SnapshotCreatedImage", FailureKind::in_use},
    CodeMeaning{"IncorrectInstanceStatus", FailureKind::in_use},
    CodeMeaning{"DryRunOperation", FailureKind::dry_run_passed},
    CodeMeaning{"DRYRUN.SUCCESS", FailureKind::dry_run_passed},
};

std::string first_text(const cloud::Answer& answer, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::string text = answer[name].text(); !text.empty()) return text;
  return {};
}

/// Returns the text between <name> and </name>: some gateways in front of the services answer in
/// XML.
std::string element(const std::string& text, const std::string& name) {
  const std::string open = "<" + name + ">";
  const std::size_t start = text.find(open);
  if (start == std::string::npos) return {};
  const std::size_t end = text.find("</" + name + ">", start);
  if (end == std::string::npos) return {};
  return text.substr(start + open.size(), end - start - open.size());
}

Failure words_of(const http::Response& response) {
  const auto document = cloud::JsonAnswer::parse(response.body);
  if (!document.root().is_object())
    return {.code = element(response.body, "Code"),
            .message = element(response.body, "Message"),
            .request_id = element(response.body, "RequestId")};
  const cloud::Answer answer = document.root();
  return {.code = first_text(answer, {"Code", "code"}),
          .message = first_text(answer, {"Message", "message"}),
          .request_id = first_text(answer, {"RequestId", "requestId"})};
}

/// Returns the time for which no further call is allowed: "TimeWindow:60,...,TimeLeft:15000".
std::optional<milliseconds> time_left(const http::Response& response) {
  constexpr std::string_view kName = "TimeLeft:";
  constexpr int kLongest = 86'400'000;
  for (const char* header : {"x-ratelimit-user-api", "x-ratelimit-user"}) {
    const std::string_view text = response.header(header).value_or("");
    const std::size_t start = text.find(kName);
    if (start == std::string_view::npos) continue;
    const int left = leading_number<int>(text.substr(start + kName.size())).value_or(-1);
    if (left >= 0) return milliseconds(std::min(left, kLongest));
  }
  return std::nullopt;
}

bool is_success(std::string_view code) {
  return code.empty() || code == "200" || code == "OK" || code == "Success";
}

}  // namespace

std::string_view version_of(std::string_view service) {
  if (service == "vpc") return "2016-04-28";
  return service == "sts" ? "2015-04-01" : "2014-05-26";
}

cloud::FailureKind kind_of(std::string_view code, int status, std::string_view message) {
  return cloud::kind_of_failure(code, message, status, kExceptions);
}

void AlibabaDialect::sign(http::Request& request, const cloud::CloudCall& call,
                          const signing::Keys& keys,
                          std::chrono::system_clock::time_point now) const {
  signing::sign_alibaba(request, keys, call.action, version_of(call.service), now, new_token());
}

std::string AlibabaDialect::request_id(const http::Response& response) const {
  if (const auto id = response.header("x-acs-request-id")) return std::string(*id);
  return words_of(response).request_id;
}

std::optional<Failure> AlibabaDialect::failure_in(const http::Response& response) const {
  Failure failure = words_of(response);
  if (response.status / 100 == 2 && is_success(failure.code)) return std::nullopt;
  failure.kind = kind_of(failure.code, response.status, failure.message);
  if (failure.code.empty()) failure.code = "HTTP " + std::to_string(response.status);
  failure.retry_after = time_left(response);
  return failure;
}

bool AlibabaDialect::is_answer(const http::Response& response,
                               const cloud::CloudCall& /*call*/) const {
  const auto document = cloud::JsonAnswer::parse(response.body);
  return !document["RequestId"].text().empty();
}

}  // namespace fastgpu::provision::alibaba
