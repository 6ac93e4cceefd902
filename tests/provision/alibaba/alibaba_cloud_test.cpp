// Alibaba Cloud behind the interface of all clouds: what is sent, and answers that are not as they
// should be.
#include "provision/providers/alibaba/alibaba_cloud.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <mutex>

#include "provision/api_tools.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using nlohmann::json;

/// Answers every request of an action with the same text.
class Script final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    const std::lock_guard lock(mutex);
    requests.push_back(request);
    const auto found = answers.find(std::string(request_header(request, "x-acs-action")));
    http::Response answer =
        found == answers.end() ? http::Response{.status = 200, .body = "{}"} : found->second;
    answer.body = test::with_request_id(answer.body);
    return answer;
  }

  static std::string_view request_header(const http::Request& request, std::string_view name) {
    return http::find_header(request.headers, name).value_or("");
  }

  std::mutex mutex;
  std::map<std::string, http::Response> answers;
  std::vector<http::Request> requests;
  test::Unheard observer;
};

ErrorKind kind_of_failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.kind();
  }
  return ErrorKind::internal;
}

json type_with_odd_numbers() {
  const json type = {{"InstanceTypeId", "ecs.gn7-c13g1.26xlarge"},
                     {"GPUAmount", 1e300},
                     {"GPUSpec", "NVIDIA A100"},
                     {"GPUMemorySize", "40"},
                     {"CpuCoreCount", 104},
                     {"MemorySize", "lots"}};
  return {{"InstanceTypes", {{"InstanceType", json::array({type})}}}};
}

json sold_out_in_one_zone() {
  const json type = {{"Value", "ecs.gn7-c13g1.26xlarge"}, {"Status", "SoldOut"}};
  const json kind = {{"SupportedResources", {{"SupportedResource", json::array({type})}}}};
  const json zone = {{"ZoneId", "cn-hangzhou-h"},
                     {"AvailableResources", {{"AvailableResource", json::array({kind})}}}};
  return {{"AvailableZones", {{"AvailableZone", json::array({zone})}}}};
}

json endless_quota() {
  const json value = {{"Value", "99999999999999999999"}};
  const json quota = {{"AttributeName", "max-postpaid-instance-vcpu-count"},
                      {"AttributeValues", {{"ValueItem", json::array({value})}}}};
  return {{"AccountAttributeItems", {{"AccountAttributeItem", json::array({quota})}}}};
}

ErrorKind kind_of_regions(Script& script, const Cancel& cancel) {
  AlibabaCloud cloud(test::tools_over(script, script.observer), "");
  return kind_of_failure([&] { cloud.regions(cancel); });
}

TEST_SUITE_BEGIN("provision/alibaba");

TEST_CASE("requests carry the vendor's host wherever they go, and no user data in their URL") {
  Script script;
  AlibabaCloud cloud(test::tools_over(script, script.observer), "http://127.0.0.1:9");
  const Cancel never;
  const cloud::Launch launch{.site = {"cn-hangzhou", "cn-hangzhou-h"},
                             .user_data = Secret("#cloud-config")};
  CHECK(cloud.launch(launch, never).empty());
  REQUIRE(script.requests.size() == 1);
  const http::Request& sent = script.requests.front();
  CHECK(sent.url == "http://127.0.0.1:9/");
  CHECK(Script::request_header(sent, "Host") == "ecs.cn-hangzhou.aliyuncs.com");
  CHECK(sent.body.find("UserData=I2Nsb3VkLWNvbmZpZw%3D%3D") != std::string::npos);
}

TEST_CASE("a launch returns the ids in its answer before they are listed") {
  Script script;
  const json ids = {{"InstanceIdSets", {{"InstanceIdSet", {"i-1", "i-2"}}}}};
  script.answers["RunInstances"] = {.status = 200, .body = ids.dump()};
  AlibabaCloud cloud(test::tools_over(script, script.observer), "");
  const Cancel never;
  const auto machines = cloud.launch({.site = {"cn-hangzhou", "cn-hangzhou-h"},
                                      .type = "ecs.gn7",
                                      .first = 3,
                                      .count = 2,
                                      .user_data = Secret("#cloud-config")},
                                     never);
  REQUIRE(machines.size() == 2);
  CHECK(machines[1].id == "i-2");
  CHECK(machines[1].index == 4);
  CHECK(machines[1].state == cloud::MachineState::pending);
  CHECK(machines[1].type == "ecs.gn7");
  CHECK(script.requests.size() == 1);
}

TEST_CASE("each attempt has a nonce of its own") {
  Script script;
  script.answers["DescribeRegions"] = {.status = 503, .body = ""};
  AlibabaCloud cloud(test::tools_over(script, script.observer), "");
  const Cancel never;
  CHECK(kind_of_failure([&] { cloud.regions(never); }) == ErrorKind::transient);
  REQUIRE(script.requests.size() == 2);
  CHECK(Script::request_header(script.requests[0], "x-acs-signature-nonce") !=
        Script::request_header(script.requests[1], "x-acs-signature-nonce"));
}

TEST_CASE("what is no JSON object is no answer of the cloud's") {
  const Cancel never;
  for (const char* odd : {"", "[]", "null", "{\"a\":", "\xff\xfe", "<html>"}) {
    Script script;
    script.answers["DescribeRegions"] = {.status = 200, .body = odd};
    CHECK(kind_of_regions(script, never) == ErrorKind::transient);
  }
}

TEST_CASE("machines that are not there any more do not keep the others from being ended") {
  Script script;
  script.answers["DeleteInstances"] = {.status = 404,
                                       .body = R"({"Code":"InvalidInstanceId.NotFound"})"};
  AlibabaCloud cloud(test::tools_over(script, script.observer), "");
  const std::vector<std::string> ids = {"i-1", "i-2"};
  CHECK_NOTHROW(cloud.terminate("cn-hangzhou", ids));
}

TEST_CASE("only machines that stand still are started") {
  Script script;
  script.answers["DescribeInstances"] = {
      .status = 200,
      .body = R"({"Instances":{"Instance":[{"InstanceId":"i-1","Status":"Running"}]}})"};
  AlibabaCloud cloud(test::tools_over(script, script.observer), "");
  const std::vector<std::string> ids = {"i-1"};
  const Cancel never;
  cloud.start("cn-hangzhou", ids, never);
  CHECK(script.requests.size() == 1);
  cloud.stop("cn-hangzhou", ids, never);
  CHECK(Script::request_header(script.requests.back(), "x-acs-action") == "StopInstances");
  CHECK(script.requests.back().body.find("StoppedMode=StopCharging") != std::string::npos);
}

TEST_CASE("offers bear huge and missing numbers") {
  Script script;
  const auto say = [&](const char* action, const json& answer) {
    script.answers[action] = {.status = 200, .body = answer.dump()};
  };
  say("DescribeInstanceTypes", type_with_odd_numbers());
  say("DescribeAvailableResource", sold_out_in_one_zone());
  say("DescribeAccountAttributes", endless_quota());
  AlibabaCloud cloud(test::tools_over(script, script.observer), "");
  const Cancel never;
  const auto offers = cloud.offers("cn-hangzhou", {.gpu = "A100", .gpus = 8}, never);
  REQUIRE(offers.size() == 1);
  CHECK(offers[0].stock == cloud::Stock::none);
  CHECK(offers[0].type.gpu == "A100");
  CHECK(offers[0].type.gpu_memory_gib == 40);
  CHECK(offers[0].quota == 1'000'000);
  CHECK_FALSE(offers[0].price_per_hour);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::alibaba
