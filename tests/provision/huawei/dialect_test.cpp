#include "provision/providers/huawei/huawei_dialect.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision::huawei {
namespace {

using cloud::FailureKind;

std::optional<cloud::Failure> failure_in(int status, const std::string& body) {
  return HuaweiDialect().failure_in({.status = status, .headers = {}, .body = body});
}

TEST_SUITE_BEGIN("provision/huawei");

TEST_CASE("each form of a refusal gives its code and words") {
  for (const char* body : {R"({"error": {"code": "Ecs.0018", "message": "sold out"}})",
                           R"({"error_code": "Ecs.0018", "error_msg": "sold out"})",
                           R"({"code": "Ecs.0018", "message": "sold out"})",
                           R"({"badRequest": {"message": "sold out", "code": "Ecs.0018"}})"}) {
    CAPTURE(body);
    const auto failure = failure_in(400, body);
    REQUIRE(failure);
    CHECK(failure->code == "Ecs.0018");
    CHECK(failure->message == "sold out");
    CHECK(failure->kind == FailureKind::stock);
  }
}

TEST_CASE("a flow limit that calls itself accepted is throttling") {
  const auto failure = failure_in(202, R"({"error": {"code": "Common.0024", "message": "flow"}})");
  REQUIRE(failure);
  CHECK(failure->kind == FailureKind::throttled);
}

TEST_CASE("a job that tells of a failure is an answer and no refusal") {
  CHECK_FALSE(failure_in(200, R"({"job_id": "1", "status": "FAIL", "error_code": "Ecs.0219",
                                  "fail_reason": "no", "code": "x", "message": "y"})"));
  CHECK_FALSE(failure_in(202, ""));
  CHECK_FALSE(failure_in(200, R"({"servers": [{"fault": {"code": 500, "message": "boom"}}]})"));
}

TEST_CASE("codes mean what the vendor's lists say") {
  struct Row {
    const char* code;
    int status;
    FailureKind kind;
  };
  constexpr Row kRows[] = {
      {"Common.1503", 503, FailureKind::throttled},  {"APIGW.0308", 429, FailureKind::throttled},
      {"Ecs.0319", 400, FailureKind::stock},         {"Ecs.0703", 400, FailureKind::price},
      {"Ecs.0001", 400, FailureKind::quota},         {"VPC.0114", 409, FailureKind::quota},
      {"Ecs.0067", 400, FailureKind::money},         {"Pdp.0001", 403, FailureKind::permission},
      {"Ecs.0003", 403, FailureKind::account},       {"New.0001", 403, FailureKind::permission},
      {"APIGW.0301", 401, FailureKind::credentials}, {"Ecs.0124", 400, FailureKind::token_used},
      {"Ecs.0114", 404, FailureKind::not_found},     {"VPC.0209", 409, FailureKind::in_use},
      {"New.0001", 500, FailureKind::busy},          {"New.0001", 400, FailureKind::invalid},
      {"", 401, FailureKind::credentials},           {"", 429, FailureKind::throttled},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.code);
    CAPTURE(row.status);
    CHECK(kind_of(row.code, row.status) == row.kind);
  }
}

TEST_CASE("a denial with an unknown code may be about the account") {
  CHECK(kind_of("CBC.30000067", 403, "Insufficient account balance.") == FailureKind::money);
  CHECK(kind_of("CBC.0151", 403, "The account is frozen.") == FailureKind::account);
  CHECK(kind_of("New.0001", 403, "Insufficient rights.") == FailureKind::permission);
}

TEST_CASE("what cannot be read is told by its status") {
  for (const char* body : {"", "<html>", "[]", "{}", "7", R"({"code": {}, "message": []})"}) {
    CAPTURE(body);
    const auto failure = failure_in(503, body);
    REQUIRE(failure);
    CHECK(failure->code == "HTTP 503");
    CHECK(failure->kind == FailureKind::busy);
  }
}

TEST_CASE("a job's general code gives way to the words of its reason") {
  const auto kind = [](const char* code, const char* reason) {
    const nlohmann::json job = {{"error_code", code}, {"fail_reason", reason}};
    return failure_of_job(cloud::Answer(job)).kind;
  };
  CHECK(kind("Ecs.0219", "No valid host was found") == FailureKind::stock);
  CHECK(kind("Ecs.0219", "Quota exceeded for cores") == FailureKind::quota);
  CHECK(kind("Ecs.0219", "something else") == FailureKind::stock);
  CHECK(kind("Ecs.0319", "") == FailureKind::stock);
}

TEST_CASE("an answer has what all to that question have") {
  const auto is_answer = [](const std::string& holds, const std::string& body) {
    return HuaweiDialect().is_answer({.status = 200, .headers = {}, .body = body},
                                     {.holds = holds});
  };
  CHECK(is_answer("servers", R"({"servers": []})"));
  CHECK(is_answer("", ""));
  CHECK(is_answer("", "{}"));
  for (const char* body : {"", "{}", "[]", R"({"error": 7})"})
    CHECK_FALSE(is_answer("servers", body));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::huawei
