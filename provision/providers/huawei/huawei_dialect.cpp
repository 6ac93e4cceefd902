#include "provision/providers/huawei/huawei_dialect.hpp"

#include <array>

#include "provision/signing/signing.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;
using cloud::CodeMeaning;
using cloud::Failure;
using cloud::FailureKind;

// From the services' lists of error codes, which are numbers. The first row whose prefix fits
// counts.
constexpr std::array kMeanings = {
    CodeMeaning{"Common.1503", FailureKind::throttled},
    CodeMeaning{"Common.0024", FailureKind::throttled},
    CodeMeaning{"APIGW.0308", FailureKind::throttled},
    CodeMeaning{"Ecs.0018", FailureKind::stock},
    CodeMeaning{"Ecs.0319", FailureKind::stock},
    CodeMeaning{"Ecs.0044", FailureKind::stock},
    CodeMeaning{"Ecs.0019", FailureKind::stock},
    CodeMeaning{"Ecs.0029", FailureKind::stock},
    CodeMeaning{"Ecs.0016", FailureKind::stock},
    CodeMeaning{"Ecs.0028", FailureKind::stock},
    CodeMeaning{"Ecs.0076", FailureKind::stock},
    CodeMeaning{"Ecs.0015", FailureKind::stock},  // A disk type that the flavor does not accept.
    CodeMeaning{"Ecs.0702", FailureKind::price},
    CodeMeaning{"Ecs.0703", FailureKind::price},
    CodeMeaning{"Ecs.0001", FailureKind::quota},
    CodeMeaning{"Ecs.0012", FailureKind::quota},
    CodeMeaning{"Ecs.0013", FailureKind::quota},
    CodeMeaning{"Ecs.0021", FailureKind::quota},
    CodeMeaning{"Ecs.0022", FailureKind::quota},
    CodeMeaning{"Ecs.0913", FailureKind::quota},
    CodeMeaning{"Ecs.0039", FailureKind::quota},
    CodeMeaning{"VPC.0114", FailureKind::quota},
    CodeMeaning{"VPC.0212", FailureKind::quota},
    CodeMeaning{"VPC.0602", FailureKind::quota},
    CodeMeaning{"APIGW.0101", FailureKind::invalid},  // An unknown API, whatever the status.
    CodeMeaning{"Ecs.0002", FailureKind::busy},
    CodeMeaning{"Ecs.0004", FailureKind::busy},
    CodeMeaning{"Ecs.0100", FailureKind::in_use},
    CodeMeaning{"Ecs.0201", FailureKind::busy},
    CodeMeaning{"VPC.0503", FailureKind::busy},
    CodeMeaning{"Ecs.0067", FailureKind::money},
    CodeMeaning{"Ecs.7000", FailureKind::money},
    // The account is frozen, restricted or in arrears.
    CodeMeaning{"Ecs.0003", FailureKind::account},
    CodeMeaning{"Ecs.0023", FailureKind::permission},
    CodeMeaning{"Pdp.0001", FailureKind::permission},
    CodeMeaning{"Common.0018", FailureKind::permission},
    CodeMeaning{"VPC.0005", FailureKind::permission},
    CodeMeaning{"VPC.0009", FailureKind::permission},
    CodeMeaning{"APIGW.0301", FailureKind::credentials},
    CodeMeaning{"Common.0013", FailureKind::credentials},
    CodeMeaning{"Ecs.0122", FailureKind::token_used},
    CodeMeaning{"Ecs.0124", FailureKind::token_used},
    CodeMeaning{"Ecs.0114", FailureKind::not_found},
    CodeMeaning{"VPC.0003", FailureKind::not_found},
};

/// The code of every failed creation: only its message has the reason.
constexpr std::string_view kCreationFailed = "Ecs.0219";

/// Returns the refusal in the members with the vendor's two pairs of names. A number does not count
/// as a code.
std::optional<Failure> refusal_here(const Answer& answer) {
  constexpr std::array kNames = {std::pair("error_code", "error_msg"),
                                 std::pair("code", "message")};
  for (const auto& [code, message] : kNames)
    if (const std::string found = answer[code].text(); !found.empty())
      if (const std::string words = answer[message].text(); !words.empty())
        return Failure{.code = found, .message = words};
  return std::nullopt;
}

/// Returns the refusal in an object, or up to `depth` levels below, under any name.
std::optional<Failure> refusal_in(const Answer& answer, int depth) {
  if (!answer.is_object()) return std::nullopt;
  if (auto found = refusal_here(answer)) return found;
  if (depth == 0) return std::nullopt;
  for (const auto& [name, inner] : answer.members())
    if (auto found = refusal_in(inner, depth - 1)) return found;
  return std::nullopt;
}

/// Returns the refusal in an answer with a status of success: a flow limit has status 202. Jobs
/// have codes and messages of their own, which are not refusals.
std::optional<Failure> refusal_in_success(const Answer& answer) {
  if (!answer.is_object() || answer.has("job_id")) return std::nullopt;
  return refusal_in(answer.has("error") ? answer["error"] : answer, 0);
}

/// Returns the meaning of a denial with an unknown code: the account may be the reason, and not the
/// permission of the user.
FailureKind kind_of_denial(std::string_view message) {
  const auto kind = cloud::kind_by_words(message);
  const bool is_of_account =
      kind == FailureKind::money || kind == FailureKind::account || kind == FailureKind::quota;
  return is_of_account ? *kind : FailureKind::permission;
}

}  // namespace

cloud::FailureKind kind_of(std::string_view code, int status, std::string_view message) {
  if (code == kCreationFailed) return cloud::kind_by_words(message).value_or(FailureKind::stock);
  for (const CodeMeaning& row : kMeanings)
    if (code.starts_with(row.prefix)) return row.kind;
  if (status == 401) return FailureKind::credentials;
  if (status == 403) return kind_of_denial(message);
  if (status == 404) return FailureKind::not_found;
  const FailureKind kind = cloud::kind_of_failure(code, message, status, {});
  return status == 409 && kind == FailureKind::invalid ? FailureKind::in_use : kind;
}

cloud::Failure failure_of_job(const Answer& job) {
  Failure failure{
      .cloud = "huawei", .code = job["error_code"].text(), .message = job["fail_reason"].text()};
  if (failure.message.empty()) failure.message = job["entities"]["errorcode_message"].text();
  if (failure.code.empty()) failure.code = "FAIL";
  failure.kind = kind_of(failure.code, 0, failure.message);
  return failure;
}

void HuaweiDialect::sign(http::Request& request, const cloud::CloudCall&, const signing::Keys& keys,
                         std::chrono::system_clock::time_point now) const {
  signing::sign_huawei(request, keys, now);
}

std::string HuaweiDialect::request_id(const http::Response& response) const {
  const auto id = response.header("X-Request-Id");
  return id ? std::string(*id) : "";
}

std::optional<Failure> HuaweiDialect::failure_in(const http::Response& response) const {
  constexpr int kDepth = 2;
  const auto answer = cloud::JsonAnswer::parse(response.body);
  const bool is_success = response.status / 100 == 2;
  auto failure = is_success ? refusal_in_success(answer) : refusal_in(answer, kDepth);
  if (!failure && is_success) return std::nullopt;
  if (!failure) failure = Failure{.code = "HTTP " + std::to_string(response.status)};
  failure->kind = kind_of(failure->code, is_success ? 400 : response.status, failure->message);
  failure->request_id = request_id(response);
  return failure;
}

bool HuaweiDialect::is_answer(const http::Response& response, const cloud::CloudCall& call) const {
  if (response.body.empty()) return call.holds.empty();
  const auto answer = cloud::JsonAnswer::parse(response.body);
  return answer.root().is_object() && (call.holds.empty() || answer.root().has(call.holds));
}

}  // namespace fastgpu::provision::huawei
