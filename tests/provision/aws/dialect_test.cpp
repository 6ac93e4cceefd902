#include "provision/providers/aws/aws_dialect.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision::aws {
namespace {

using cloud::FailureKind;

constexpr const char* kBusy =
    "<Response><Errors><Error><Code>InternalError</Code><Message>again</Message></Error></Errors>"
    "<RequestID>r-1</RequestID></Response>";
constexpr const char* kSuccess =
    "<DescribeVpcsResponse><requestId>r-2</requestId><vpcSet/></DescribeVpcsResponse>";

http::Response answer(int status, std::string body) {
  return {.status = status, .headers = {}, .body = std::move(body)};
}

TEST_SUITE_BEGIN("provision/aws");

TEST_CASE("an error in an answer of status 200 is that error") {
  const auto failure = AwsDialect().failure_in(answer(200, kBusy));
  REQUIRE(failure);
  CHECK(failure->kind == FailureKind::busy);
  CHECK(failure->code == "InternalError");
  const auto json = AwsDialect().failure_in(answer(200, R"({"__type": "a#AccessDenied"})"));
  REQUIRE(json);
  CHECK(json->kind == FailureKind::permission);
}

TEST_CASE("an answer that only speaks of errors is a success") {
  const AwsDialect dialect;
  CHECK_FALSE(dialect.failure_in(answer(200, kSuccess)));
  CHECK_FALSE(
      dialect.failure_in(answer(200, "<R><items><item><Error>x</Error></item></items></R>")));
  CHECK_FALSE(dialect.failure_in(answer(204, "")));
}

TEST_CASE("the request's id is in a header, or else in the document") {
  const AwsDialect dialect;
  CHECK(dialect.request_id(answer(200, kSuccess)) == "r-2");
  CHECK(dialect.request_id(answer(503, kBusy)) == "r-1");
  CHECK(dialect.request_id(answer(200, "<A><ResponseMetadata><RequestId>r-3</RequestId>")) ==
        "r-3");
  http::Response headed = answer(200, kSuccess);
  headed.headers = {{"x-amzn-RequestId", "r-4"}};
  CHECK(dialect.request_id(headed) == "r-4");
  CHECK(dialect.request_id(answer(200, "<requestId>cut")).empty());
}

TEST_CASE("a refusal that tells its request in the document alone names it") {
  const auto failure = AwsDialect().failure_in(answer(400, kBusy));
  REQUIRE(failure);
  CHECK(failure->request_id == "r-1");
}

TEST_CASE("what was done before is told from what cannot be done") {
  CHECK(kind_of("InvalidPermission.Duplicate", 400) == FailureKind::done_already);
  CHECK(kind_of("Resource.AlreadyAssociated", 400) == FailureKind::done_already);
  CHECK(kind_of("InvalidPermission.Malformed", 400) == FailureKind::invalid);
  CHECK(kind_of("RouteAlreadyExists", 400) == FailureKind::done_already);
}

TEST_CASE("codes mean what EC2's list says, whatever their status") {
  const std::pair<const char*, FailureKind> rows[] = {
      {"RequestLimitExceeded", FailureKind::throttled},
      {"EC2ThrottledException", FailureKind::throttled},
      {"InternalError", FailureKind::busy},
      {"Unavailable", FailureKind::busy},
      {"InsufficientInstanceCapacity", FailureKind::stock},
      {"InsufficientVolumeCapacity", FailureKind::stock},
      {"Unsupported", FailureKind::stock},
      {"UnsupportedOperation", FailureKind::invalid},
      {"SpotMaxPriceTooLow", FailureKind::price},
      {"MaxSpotInstanceCountExceeded", FailureKind::quota},
      {"RulesPerSecurityGroupLimitExceeded", FailureKind::quota},
      {"PendingVerification", FailureKind::account},
      {"OptInRequired", FailureKind::account},
      {"AuthFailure", FailureKind::credentials},
      {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", FailureKind::permission},
      {"UnauthorizedOperation", FailureKind::permission},
      {"RequestExpired", FailureKind::clock_skew},
      {"InvalidClientTokenId", FailureKind::credentials},
      {"MissingAuthenticationToken", FailureKind::credentials},
      {"ExpiredTokenException", FailureKind::expired},
      {"InvalidAMIName.Duplicate", FailureKind::name_taken},
      {"InvalidAMIID.Unavailable", FailureKind::not_found},
      {"DependencyViolation", FailureKind::in_use},
      {"InvalidGroup.InUse", FailureKind::in_use},
      {"IncorrectInstanceState", FailureKind::busy},
      {"ConcurrentTagAccess", FailureKind::busy},
      {"IdempotentInstanceTerminated", FailureKind::token_used},
      {"DryRunOperation", FailureKind::dry_run_passed},
      {"Gateway.NotAttached", FailureKind::not_found},
      {"InvalidInstanceID.Malformed", FailureKind::not_found},
      {"InvalidParameterCombination", FailureKind::invalid}};
  for (const auto& [code, kind] : rows)
    for (const int status : {400, 403}) {
      CAPTURE(code);
      CHECK(kind_of(code, status) == kind);
    }
  CHECK(kind_of("InsufficientVolumeCapacity", 500) == FailureKind::stock);
}

TEST_CASE("a document that is called after no action is no answer") {
  const auto is_answer = [](const char* service, const std::string& body) {
    return AwsDialect().is_answer(answer(200, body), {.service = service});
  };
  CHECK(is_answer("ec2", "<?xml version='1.0'?>\n<!-- a --><RunInstancesResponse xmlns='x'/>"));
  CHECK(is_answer("sts", "<GetCallerIdentityResponse>"));
  CHECK(is_answer("pricing", "{}"));
  for (const char* body : {"", "<", "<a/>", "{}", "<html><RunInstancesResponse/>"})
    CHECK_FALSE(is_answer("ec2", body));
  CHECK_FALSE(is_answer("pricing", "[]"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::aws
