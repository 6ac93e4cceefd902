#include "provision/providers/huawei/huawei_dialect.hpp"

#include <algorithm>
#include <array>

#include "http/urls.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;
using cloud::CodeMeaning;
using cloud::Failure;
using cloud::FailureKind;
using nlohmann::json;

// From the services' lists of error codes. The first row whose prefix fits counts.
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
    CodeMeaning{"Ecs.0702", FailureKind::price},
    CodeMeaning{"Ecs.0703", FailureKind::price},
    CodeMeaning{"Ecs.0001", FailureKind::quota},
    CodeMeaning{"Ecs.0012", FailureKind::quota},
    CodeMeaning{"Ecs.0013", FailureKind::quota},
    CodeMeaning{"Ecs.0021", FailureKind::quota},
    CodeMeaning{"Ecs.0022", FailureKind::quota},
    CodeMeaning{"Ecs.0913", FailureKind::quota},
    CodeMeaning{"VPC.0114", FailureKind::quota},
    CodeMeaning{"Ecs.0067", FailureKind::money},
    CodeMeaning{"Ecs.7000", FailureKind::money},
    CodeMeaning{"Ecs.0003", FailureKind::permission},
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

struct ReasonMeaning {
  std::string_view words;
  FailureKind kind;
};

// What jobs write when their code is a general one.
constexpr std::array kReasons = {
    ReasonMeaning{"quota", FailureKind::quota},
    ReasonMeaning{"price", FailureKind::price},
    ReasonMeaning{"balance", FailureKind::money},
    ReasonMeaning{"no valid host", FailureKind::stock},
    ReasonMeaning{"sold out", FailureKind::stock},
    ReasonMeaning{"sellout", FailureKind::stock},
    ReasonMeaning{"capacity", FailureKind::stock},
    ReasonMeaning{"insufficient", FailureKind::stock},
    ReasonMeaning{"not enough", FailureKind::stock},
    ReasonMeaning{"no more", FailureKind::stock},
};

/// The code and words in the vendor's pairs of names; a number is no code.
std::optional<Failure> refusal_here(const json& answer) {
  constexpr std::array kNames = {std::pair("error_code", "error_msg"),
                                 std::pair("code", "message")};
  for (const auto& [code, message] : kNames)
    if (const std::string found = Answer(answer)[code].text(); !found.empty())
      if (const std::string words = Answer(answer)[message].text(); !words.empty())
        return Failure{.code = found, .message = words};
  return std::nullopt;
}

/// The same one or two levels further down, under whatever name.
std::optional<Failure> refusal_in(const json& answer, int depth) {
  if (!answer.is_object()) return std::nullopt;
  if (auto found = refusal_here(answer)) return found;
  if (depth == 0) return std::nullopt;
  for (const json& inner : answer)
    if (auto found = refusal_in(inner, depth - 1)) return found;
  return std::nullopt;
}

/// In an answer that calls itself a success: a flow limit comes as 202. Jobs have codes and
/// messages of their own, which are no refusals.
std::optional<Failure> refusal_in_success(const json& answer) {
  if (!answer.is_object() || answer.contains("job_id")) return std::nullopt;
  const auto error = answer.find("error");
  return refusal_in(error == answer.end() ? answer : *error, 0);
}

}  // namespace

cloud::FailureKind kind_of(std::string_view code, int status) {
  for (const CodeMeaning& row : kMeanings)
    if (code.starts_with(row.prefix)) return row.kind;
  if (status == 401) return FailureKind::credentials;
  if (status == 403) return FailureKind::permission;
  if (status == 404) return FailureKind::not_found;
  if (status == 409) return FailureKind::in_use;
  if (status == 429) return FailureKind::throttled;
  if (status >= 500) return FailureKind::busy;
  return FailureKind::invalid;
}

cloud::Failure failure_of_job(const Answer& job) {
  Failure failure{.code = job["error_code"].text(), .message = job["fail_reason"].text()};
  if (failure.message.empty()) failure.message = job["entities"]["errorcode_message"].text();
  if (failure.code.empty()) failure.code = "FAIL";
  failure.kind = kind_of(failure.code, 0);
  if (failure.kind != FailureKind::invalid) return failure;
  const std::string reason = http::lower_case(failure.message);
  const auto row = std::ranges::find_if(
      kReasons, [&](const ReasonMeaning& r) { return reason.find(r.words) != std::string::npos; });
  if (row != kReasons.end()) failure.kind = row->kind;
  return failure;
}

void HuaweiDialect::sign(http::Request& request, const cloud::Call&, const signing::Keys& keys,
                         std::chrono::system_clock::time_point now) const {
  signing::sign_huawei(request, keys, now);
}

std::string HuaweiDialect::request_id(const http::Response& response) const {
  const auto id = response.header("X-Request-Id");
  return id ? std::string(*id) : "";
}

std::optional<Failure> HuaweiDialect::failure_in(const http::Response& response) const {
  constexpr int kDepth = 2;
  const json answer = json::parse(response.body, nullptr, false);
  const bool is_success = response.status / 100 == 2;
  auto failure = is_success ? refusal_in_success(answer) : refusal_in(answer, kDepth);
  if (!failure && is_success) return std::nullopt;
  if (!failure) failure = Failure{.code = "HTTP " + std::to_string(response.status)};
  failure->kind = kind_of(failure->code, is_success ? 400 : response.status);
  failure->request_id = request_id(response);
  return failure;
}

bool HuaweiDialect::is_answer(const http::Response& response, const cloud::Call& call) const {
  if (response.body.empty()) return call.holds.empty();
  const json answer = json::parse(response.body, nullptr, false);
  return answer.is_object() && (call.holds.empty() || answer.contains(call.holds));
}

}  // namespace fastgpu::provision::huawei
