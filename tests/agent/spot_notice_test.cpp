// What a cloud's service on the machine says, in each cloud's words.
#include "agent/guard/spot_notice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "agent/guard/metadata_client.hpp"
#include "agent/protocol/guard.hpp"
#include "support/agent_process.hpp"
#include "support/http_server.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using test::AfterAnswer;
using test::HttpServer;
using test::HttpVisit;

constexpr std::int64_t kThen = 1'795'331'880;  // 2026-11-22T07:18:00Z

using Texts = std::map<std::string, std::string>;

/// A service that has those texts by their paths, for who shows the token.
class Service {
 public:
  explicit Service(Texts texts, std::string token_header = {})
      : texts_(std::move(texts)), token_header_(std::move(token_header)) {}

  std::string address() const { return server_.authority(); }

 private:
  AfterAnswer answer(HttpVisit& visit) const {
    const std::string path = visit.head.substr(4, visit.head.find(' ', 4) - 4);
    const bool is_known =
        token_header_.empty() || visit.head.find(token_header_ + ": secret") != std::string::npos;
    if (visit.head.starts_with("PUT "))
      visit.answer("secret");
    else if (!is_known)
      visit.answer("who?", "401 Unauthorized");
    else if (const auto text = texts_.find(path); text != texts_.end())
      visit.answer(text->second);
    else
      visit.answer("", "404 Not Found");
    return AfterAnswer::close;
  }

  Texts texts_;
  std::string token_header_;
  HttpServer server_{[this](HttpVisit& visit) { return answer(visit); }};
};

TEST_SUITE_BEGIN("agent/spot notice");

TEST_CASE("a time is found in whatever a cloud writes around it") {
  CHECK(time_in("2026-11-22T07:18:00Z") == kThen);
  CHECK(time_in(R"({"action": "terminate", "time": "2026-11-22T07:18:00Z"})") == kThen);
  CHECK(time_in("2026-11-22 07:18:00\n") == kThen);
  CHECK(time_in("1970-01-01T00:00:00Z") == 0);
  CHECK(time_in("1066-10-14T09:00:00Z") == 0);
  for (const char* none : {"", "never", "2026-11-22", "2026-11-22X07:18:00", "404 - Not Found"})
    CHECK(time_in(none) == 0);
}

TEST_CASE("each cloud is asked in its own words, and its times become ours") {
  const Service aws(Texts{{"/latest/meta-data/spot/instance-action",
                           R"({"action": "terminate", "time": "2026-11-22T07:18:00Z"})"},
                          {"/latest/meta-data/events/recommendations/rebalance",
                           R"({"noticeTime": "2026-11-22T07:17:00Z"})"}},
                    "X-aws-ec2-metadata-token");
  CHECK(spot_notice("aws", aws.address()).taken_back == kThen);
  CHECK(spot_notice("aws", aws.address()).at_risk == kThen - 60);
  const Service alibaba(
      Texts{{"/latest/meta-data/instance/spot/termination-time", "2026-11-22T07:18:00Z"}},
      "X-aliyun-ecs-metadata-token");
  CHECK(spot_notice("alibaba", alibaba.address()).taken_back == kThen);
  const Service tencent(Texts{{"/latest/meta-data/spot/termination-time", "2026-11-22 15:18:00"}});
  CHECK(spot_notice("tencent", tencent.address()).taken_back == kThen);
  const Service huawei(Texts{{"/openstack/latest/spot/instance-action",
                              R"({"action": "terminate", "timestamp": "2026-11-22T07:18:00Z"})"}},
                       "X-Metadata-Token");
  CHECK(spot_notice("huawei", huawei.address()).taken_back == kThen);
}

TEST_CASE("a service that says nothing, or is not there, takes nothing back") {
  const Service silent(Texts{});
  CHECK(spot_notice("aws", silent.address()).taken_back == 0);
  CHECK(spot_notice("aws", "127.0.0.1:1").taken_back == 0);
  CHECK(spot_notice("aws", "nonsense").taken_back == 0);
  CHECK(spot_notice("somebody", silent.address()).taken_back == 0);
}

TEST_CASE("an answer that has no end is not read to it") {
  HttpServer endless([](HttpVisit& visit) {
    visit.write("HTTP/1.1 200 OK\r\n\r\n");
    while (visit.write(std::string(4096, 'x')))
      continue;
    return AfterAnswer::close;
  });
  CHECK_FALSE(fetch_metadata(endless.authority(), "GET", "/", "", 5s));
  HttpServer silent([](HttpVisit& visit) {
    visit.wait_until_client_leaves();
    return AfterAnswer::close;
  });
  CHECK_FALSE(fetch_metadata(silent.authority(), "GET", "/", "", 100ms));
}

TEST_CASE("an answer that is cut off anywhere before its body says nothing") {
  const std::string head = "HTTP/1.1 200 OK\r\nServer: s\r\n\r\n";
  for (std::size_t size = 0; size < head.size(); ++size)
    CHECK_FALSE(body_of(head.substr(0, size)));
  CHECK(body_of(head) == "");
  CHECK(body_of(head + "b\r\n\r\n") == "b\r\n\r\n");
  CHECK_FALSE(body_of("HTTP/1.1 401 200 \r\n\r\nbody"));
}

TEST_CASE("a guard says when the node is taken back, and tells each running job once") {
  const test::ScratchHome home;
  const Service service(Texts{{"/latest/meta-data/spot/termination-time", "2026-11-22 15:18:00"}});
  const auto jobs = home.path() / ".fastgpu/jobs";
  test::write_file(jobs / "train-1/ranks/0.err", "hello\n");
  test::write_file(jobs / "over-1/ranks/0.err", "bye\n");
  test::write_file(jobs / "over-1/ranks/0.status", "");
  const GuardOrder order{.period = 50ms, .cloud = "tencent", .metadata = service.address()};
  CHECK(test::run_agent(home, {"guard-set"}, to_text(order)).status.ok());

  const auto show = [&] { return parse_node_watch(test::run_agent(home, {"guard-show"}).out); };
  CHECK(test::eventually([&] { return show().taken_back == kThen; }));
  CHECK(show().powers_off == 0);
  const auto looked = show().looked;
  CHECK(test::eventually([&] { return show().looked > looked + 1; }));
  const std::string told = test::read_text(jobs / "train-1/ranks/0.err");
  CHECK(told.starts_with("hello\nfastgpu: node "));
  CHECK(told.ends_with(" is taken back at 2026-11-22 07:18:00Z by the cloud\n"));
  CHECK(std::ranges::count(told, '\n') == 2);
  CHECK(test::read_text(jobs / "over-1/ranks/0.err") == "bye\n");
  test::run_agent(home, {"guard-set"}, to_text(GuardOrder{}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
