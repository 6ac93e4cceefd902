#include <doctest/doctest.h>

#include "provision/every_question.hpp"
#include "provision/providers/aws/aws_cloud.hpp"

namespace fastgpu::provision::aws {
namespace {

using test::kQuestions;

int ask_everything(const http::Response& answer) {
  return test::ask_everything(answer, [](cloud::ApiTools tools) {
    return std::make_unique<AwsCloud>(std::move(tools), Endpoints{});
  });
}

TEST_SUITE_BEGIN("provision/aws");

TEST_CASE("an answer that is no XML is an error of every question") {
  for (const char* body :
       {"", "[]", "<html>", "<a><b></a>", "<a/>", "\xff\xfe", "<?xml version='1.0'?>"}) {
    CAPTURE(body);
    CHECK(ask_everything({.status = 200, .headers = {}, .body = body}) == kQuestions);
  }
}

TEST_CASE("a refusal is an error of every question") {
  CHECK(ask_everything({.status = 401,
                        .headers = {},
                        .body = "<Response><Errors><Error><Code>AuthFailure</Code>"
                                "<Message>no</Message></Error></Errors></Response>"}) ==
        kQuestions);
}

TEST_CASE("a refusal of nulls and of other types is a refusal, and ends no program") {
  for (const char* body :
       {R"({"__type": null})", R"({"__type": "AccessDeniedException", "message": null})",
        R"({"__type": 7, "message": []})", R"({"__type": {}})", "null", "[]", "7", "{"}) {
    CAPTURE(body);
    for (const int status : {400, 403, 500})
      CHECK(ask_everything({.status = status, .headers = {}, .body = body}) == kQuestions);
  }
}

TEST_CASE("elements that are missing or of another kind end no program") {
  for (
      const char* body :
      {"<aResponse/>", "<aResponse><reservationSet/><instancesSet>x</instancesSet></aResponse>",
       "<aResponse><reservationSet><item/><item><instancesSet><item><instanceId>7</instanceId>"
       "<launchTime>never</launchTime><tagSet><item><key/></item></tagSet>"
       "<instanceState><code>x</code></instanceState></item></instancesSet></item>"
       "</reservationSet></aResponse>",
       "<aResponse><instanceTypeSet><item><vCpuInfo><defaultVCpus>1e999</defaultVCpus></vCpuInfo>"
       "<gpuInfo><gpus><item><count>-7</count></item></gpus></gpuInfo></item>"
       "</instanceTypeSet></aResponse>",
       "<!DOCTYPE aResponse [<!ENTITY b 'bbbb'><!ENTITY c "
       "'&b;&b;'>]><aResponse>&c;</aResponse>",
       R"({"Quota": null})", R"({"Quota": []})", R"({"Quota": {"Value": {}}})",
       R"({"PriceList": [null, 7, [], "{}", "[", {"product": null, "terms": []}],
            "NextToken": {}})",
       R"({"PriceList": ["{\"product\": {\"attributes\": []}, \"terms\": {\"OnDemand\": [1]}}"]})"}) {
    CAPTURE(body);
    CHECK_NOTHROW(ask_everything({.status = 200, .headers = {}, .body = body}));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::aws
