#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/json.hpp"
#include "base/parallel.hpp"
#include "provision/api_tools.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Launch;
using cloud::Machine;
using nlohmann::json;

/// A cloud whose jobs are over as soon as anybody has waited.
class Jobs final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    const std::scoped_lock lock(mutex_);
    if (request.url.ends_with("/v3/projects")) return {.status = 403, .headers = {}, .body = "{}"};
    if (request.method == "POST") return answer({{"job_id", launched(request.body)}});
    if (const auto at = request.url.find("/jobs/"); at != std::string::npos) {
      ++job_looks;
      return answer(job(request.url.substr(at + 6)));
    }
    ++lists;
    json listed = json::array();
    for (const json& server : servers_)
      if (server.at("id") != unlisted) listed.push_back(server);
    return answer({{"servers", listed}});
  }

  void wait() {
    const std::scoped_lock lock(mutex_);
    has_waited_ = true;
  }

  int job_looks = 0;
  int lists = 0;
  std::string unlisted{};  ///< The id of a server that no list has.

 private:
  static http::Response answer(const json& body) {
    return {.status = 200, .headers = {}, .body = body.dump()};
  }

  /// The job is called after the first node.
  std::string launched(const std::string& body) {
    const json server = json::parse(body).at("server");
    json tags = json::array();
    std::string first;
    for (const json& tag : server.at("server_tags")) {
      tags.push_back(tag.at("key").get<std::string>() + "=" + tag.at("value").get<std::string>());
      if (tag.at("key") == cloud::kFirstTag) first = tag.at("value").get<std::string>();
    }
    for (int n = 1; n <= server.at("count").get<int>(); ++n)
      servers_.push_back({{"id", first + "_" + std::to_string(n)},
                          {"name", "demo-node-000" + std::to_string(n)},
                          {"status", "ACTIVE"},
                          {"OS-EXT-AZ:availability_zone", server.at("availability_zone")},
                          {"tags", tags}});
    return first;
  }

  json job(const std::string& first) const {
    json parts = json::array();
    for (const json& server : servers_)
      if (const auto id = server.at("id").get<std::string>(); id.starts_with(first + "_"))
        parts.push_back({{"status", "SUCCESS"}, {"entities", {{"server_id", id}}}});
    return {{"status", has_waited_ ? "SUCCESS" : "RUNNING"}, {"entities", {{"sub_jobs", parts}}}};
  }

  std::mutex mutex_;
  bool has_waited_ = false;
  json servers_ = json::array();
};

struct LaunchAccount {
  Jobs jobs;
  test::Unheard observer;
  Cancel cancel;
  HuaweiCloud cloud{tools(), ""};

  cloud::ApiTools tools() {
    cloud::ApiTools tools = test::tools_over(jobs, observer);
    tools.wait = [this](std::chrono::milliseconds, const Cancel&) { jobs.wait(); };
    return tools;
  }
};

Launch launch_of(int first, int count) {
  return {.marks = {{"c1"}, "demo", "us"},
          .site = {"r", "ra"},
          .type = "p2s",
          .image = "image",
          .first = first,
          .count = count,
          .token = "0123456789abcdef0123456789abcdef"};
}

std::vector<int> indexes_of(const std::vector<Machine>& machines) {
  std::vector<int> indexes;
  std::ranges::transform(machines, std::back_inserter(indexes), &Machine::index);
  return indexes;
}

TEST_SUITE_BEGIN("provision/huawei");

TEST_CASE_FIXTURE(LaunchAccount, "launches at once each get their own machines") {
  constexpr int kCount = 3;
  std::vector<Launch> requests;
  for (int first = 0; first < 8 * kCount; first += kCount)
    requests.push_back(launch_of(first, kCount));
  const auto launched =
      parallel_map(std::span<const Launch>(requests), requests.size(),
                   [&](const Launch& choice) { return cloud.launch(choice, cancel); });
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const int first = requests[i].first;
    CHECK(indexes_of(launched[i].value()) == std::vector<int>{first, first + 1, first + 2});
  }
}

TEST_CASE_FIXTURE(LaunchAccount, "what was seen before a launch says nothing of it") {
  cloud.launch(launch_of(0, 2), cancel);
  CHECK(jobs.job_looks == 1);
  CHECK(jobs.lists == 1);
  cloud.launch(launch_of(0, 2), cancel);  // The same nodes, whose machines may have gone.
  CHECK(jobs.job_looks == 2);
  CHECK(jobs.lists == 2);
}

TEST_CASE_FIXTURE(LaunchAccount, "a machine that is made and not listed yet is the launch's") {
  jobs.unlisted = "3_1";
  const auto machines = cloud.launch(launch_of(3, 2), cancel);
  REQUIRE(machines.size() == 2);
  CHECK(machines[0].index == 4);
  CHECK(machines[1].id == "3_1");
  CHECK(machines[1].index == 3);
  CHECK(machines[1].state == cloud::MachineState::pending);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::huawei
