#include <doctest/doctest.h>

#include <deque>

#include "provision/api_tools.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::ImageState;
using test::failure_of;
using test::mentions;

/// Answers by method and the end of the path, to an account that may not list projects.
class Script final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    if (request.url.ends_with("/v3/projects")) return {.status = 403, .headers = {}, .body = "{}"};
    requests.push_back(request);
    for (const auto& [what, answer] : answers)
      if ((request.method + " " + request.url).find(what) != std::string::npos) return answer;
    return {
        .status = 404, .headers = {}, .body = R"({"error_code": "IMG.0027", "error_msg": "no"})"};
  }

  std::vector<std::pair<std::string, http::Response>> answers;
  std::vector<http::Request> requests;
};

struct ImageAccount {
  Script script;
  test::Unheard observer;
  Cancel cancel;
  HuaweiCloud cloud{test::tools_over(script, observer), ""};

  void answer(const std::string& what, const std::string& body) {
    script.answers.emplace_back(what, http::Response{.status = 200, .headers = {}, .body = body});
  }
  void make() {
    cloud.make_image({.region = "r",
                      .machine = "i-1",
                      .name = "fastgpu-train-abc",
                      .marks = {.environment = "train", .made_of = "abc"}},
                     cancel);
  }
};

TEST_SUITE_BEGIN("provision/huawei");

TEST_CASE_FIXTURE(ImageAccount, "our images are the private ones whose description has our marks") {
  answer("GET ", R"({"images": [
    {"id": "1", "name": "n", "status": "saving",
     "__description": "fastgpu-image=train fastgpu-made-of=abc"},
    {"id": "2", "status": "active", "__description": "somebody's own"},
    {"id": "3", "status": "killed", "__description": "fastgpu-image=train"}]})");
  const auto found = cloud.own_images("r", cancel);
  REQUIRE(found.size() == 2);
  CHECK(found[0].state == ImageState::pending);
  CHECK(found[0].marks.made_of == "abc");
  CHECK(found[1].state == ImageState::failed);
  CHECK(script.requests[0].url.find("__imagetype=private") != std::string::npos);
}

TEST_CASE_FIXTURE(ImageAccount, "an image is asked for once, with its marks twice") {
  answer("POST ", R"({"job_id": "j"})");
  answer("/jobs/j", R"({"job_id": "j", "status": "SUCCESS"})");
  answer("/cloudimages?", R"({"images": []})");
  make();
  const std::string& body = script.requests[0].body;
  CHECK(body.find("fastgpu-image=train fastgpu-made-of=abc") != std::string::npos);
  CHECK(body.find(R"({"key":"fastgpu-image","value":"train"})") != std::string::npos);
}

TEST_CASE_FIXTURE(ImageAccount, "what speaks against an image is told by the job") {
  answer("POST ", R"({"job_id": "j"})");
  answer("/jobs/j", R"({"job_id": "j", "status": "FAIL", "error_code": "IMG.0029",
                        "fail_reason": "no space"})");
  const Error e = failure_of([&] { make(); });
  CHECK(mentions(e, "no space"));
}

TEST_CASE_FIXTURE(ImageAccount, "an image that is gone already is removed") {
  CHECK_NOTHROW(cloud.remove_image("r", {.image = {.id = "1"}}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::huawei
