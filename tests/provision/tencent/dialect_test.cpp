#include "provision/providers/tencent/tencent_dialect.hpp"

#include <doctest/doctest.h>

#include "http/urls.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::FailureKind;

TEST_SUITE_BEGIN("provision/tencent");

TEST_CASE("error codes mean what can be done about them") {
  struct Row {
    const char* code;
    FailureKind kind;
  };
  const Row rows[] = {
      {"RequestLimitExceeded.UinLimitExceeded", FailureKind::throttled},
      {"InternalServerError", FailureKind::busy},
      {"MutexOperation.TaskRunning", FailureKind::busy},
      {"OperationDenied.InstanceOperationInProgress", FailureKind::busy},
      {"ResourceInsufficient.SpecifiedInstanceType", FailureKind::stock},
      {"ResourcesSoldOut.AvailableZone", FailureKind::stock},
      {"ResourceUnavailable.InstanceType", FailureKind::stock},
      {"InvalidParameterValue.InsufficientOffering", FailureKind::stock},
      {"ResourceInsufficient.CidrBlock", FailureKind::quota},
      {"LimitExceeded.UserSpotQuota", FailureKind::quota},
      {"InstancesQuotaLimitExceeded", FailureKind::quota},
      {"InvalidParameterValue.InsufficientPrice", FailureKind::price},
      {"InvalidAccount.InsufficientBalance", FailureKind::money},
      {"AuthFailure.SignatureExpire", FailureKind::clock_skew},
      {"AuthFailure.SecretIdNotFound", FailureKind::credentials},
      {"AuthFailure.TokenFailure", FailureKind::credentials},
      {"UnauthorizedOperation.InvalidToken", FailureKind::credentials},
      {"AuthFailure.UnauthorizedOperation", FailureKind::permission},
      {"UnauthorizedOperation.CamNoAuth", FailureKind::permission},
      {"UnsupportedOperation.InstanceStateTerminating", FailureKind::not_found},
      {"UnsupportedOperation.InstanceStatePending", FailureKind::in_use},
      {"ResourceInUse.HpcCluster", FailureKind::in_use},
      {"InvalidInstanceId.NotFound", FailureKind::not_found},
      {"InvalidParameterValue.LimitExceeded", FailureKind::invalid},
      {"SomethingNew", FailureKind::invalid},
  };
  for (const Row& row : rows) {
    CAPTURE(row.code);
    CHECK(kind_of(row.code, 200) == row.kind);
  }
  CHECK(kind_of("", 503) == FailureKind::busy);
  CHECK(kind_of("", 429) == FailureKind::throttled);
}

TEST_CASE("an error in an answer with HTTP 200 is a refusal") {
  const http::Response refused{
      200, {}, R"({"Response": {"Error": {"Code": "ResourceInUse", "Message": "m"},
                  "RequestId": "r"}})"};

  const auto failure = TencentDialect().failure_in(refused);

  REQUIRE(failure);
  CHECK(failure->kind == FailureKind::in_use);
  CHECK(failure->message == "m");
  CHECK(failure->request_id == "r");
}

TEST_CASE("what is no refusal by its text is one by its status alone") {
  const TencentDialect dialect;
  for (const char* text : {"", "[]", "{", R"({"Response": 3})", R"({"Response": {"Error": null}})",
                           R"({"Error": {"Code": "ResourceInUse"}})", "\xff\xfe"}) {
    CAPTURE(text);
    CHECK_FALSE(dialect.failure_in({200, {}, text}));
    const auto failure = dialect.failure_in({502, {}, text});
    REQUIRE(failure);
    CHECK(failure->kind == FailureKind::busy);
    CHECK(failure->code == "HTTP 502");
  }
  CHECK(dialect.failure_in({200, {}, R"({"Response": {"Error": "odd"}})"}));
}

TEST_CASE("an answer has the request's identity") {
  const auto is_answer = [](const std::string& body) {
    return TencentDialect().is_answer({.status = 200, .headers = {}, .body = body}, {});
  };
  CHECK(is_answer(R"({"Response": {"RequestId": "r-1"}})"));
  for (const char* body : {"", "{}", R"({"Response": {}})", R"({"RequestId": "r-1"})", "[]"})
    CHECK_FALSE(is_answer(body));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::tencent
