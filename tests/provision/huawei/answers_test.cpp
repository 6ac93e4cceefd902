#include <doctest/doctest.h>

#include "provision/every_question.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

namespace fastgpu::provision::huawei {
namespace {

using test::kQuestions;

int ask_everything(const http::Response& answer) {
  return test::ask_everything(answer, [](cloud::ApiTools tools) {
    return std::make_unique<HuaweiCloud>(std::move(tools), "");
  });
}

TEST_SUITE_BEGIN("provision/huawei");

TEST_CASE("an answer that is no JSON object is an error of every question") {
  for (const char* body : {"<html>", "[]", "7", "\"text\"", "null", "{\"a\":", "\xff\xfe"}) {
    CAPTURE(body);
    CHECK(ask_everything({.status = 200, .headers = {}, .body = body}) == kQuestions);
  }
}

TEST_CASE("a refusal is an error of every question") {
  CHECK(ask_everything({.status = 401,
                        .headers = {},
                        .body = R"({"error_code": "APIGW.0301", "error_msg": "no"})"}) ==
        kQuestions);
}

TEST_CASE("members that are missing or of another kind end no program") {
  for (const char* body :
       {"{}", R"({"servers": {}, "flavors": 7, "vpcs": "x", "job_id": [], "absolute": 3})",
        R"({"servers": [1, null, {}], "flavors": [{}, 7], "vpcs": [[]], "subnets": [{"id": 1e999}],
            "security_groups": [{"security_group_rules": 5}], "job_id": "j", "status": "SUCCESS"})",
        R"({"servers": [{"id": 7, "tags": [7, {}], "addresses": {"a": {"b": 1}}}], "status": "FAIL",
            "job_id": "j", "entities": {"sub_jobs": [{"status": "FAIL"}, 3]}})",
        R"({"absolute": {"maxTotalInstances": 1e308, "maxTotalCores": -1e308},
            "projects": [{"name": 5}], "domains": [{}], "images": [{"id": {}}]})"}) {
    CAPTURE(body);
    CHECK_NOTHROW(ask_everything({.status = 200, .headers = {}, .body = body}));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::huawei
