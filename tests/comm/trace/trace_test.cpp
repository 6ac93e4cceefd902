#include <doctest/doctest.h>

#include <random>
#include <sstream>
#include <vector>

#include "base/json.hpp"
#include "comm/trace/clock.hpp"
#include "comm/trace/counters.hpp"
#include "comm/trace/link_counts.hpp"
#include "comm/trace/timeline.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

json written(const Timeline& timeline, std::chrono::nanoseconds ahead = 0ns) {
  std::ostringstream out;
  timeline.write(out, {3}, ahead);
  return json::parse(out.str());
}

TEST_SUITE_BEGIN("comm/trace");

TEST_CASE("a timeline is what Chrome reads, in the time of rank 0") {
  Timeline timeline;
  const Timeline::Clock::time_point at{5ms};
  timeline.add({"pack", 2, 7, 11, at, at + 1500ns});
  const json events = written(timeline, 1ms)["traceEvents"];
  REQUIRE(events.size() == 2);
  CHECK(events[0]["args"]["name"] == "rank 3");
  CHECK(events[1]["name"] == "pack");
  CHECK(events[1]["ph"] == "X");
  CHECK(events[1]["pid"] == 3);
  CHECK(events[1]["tid"] == 2);
  CHECK(events[1]["ts"] == 4000);
  CHECK(events[1]["dur"] == 1.5);
  CHECK(events[1]["args"] == json{{"step", 7}, {"number", 11}});
  timeline.add({.name = "all-reduce", .number = 1, .bytes = 4'000});
  CHECK(written(timeline)["traceEvents"][2]["args"] ==
        json{{"step", 0}, {"number", 1}, {"bytes", 4'000}});
}

TEST_CASE("a timeline keeps the last events, in order") {
  Timeline timeline(3);
  for (std::uint64_t i = 0; i < 8; ++i)
    timeline.add({.name = "pack", .number = i});
  CHECK(timeline.forgotten() == 5);
  const json events = written(timeline)["traceEvents"];
  REQUIRE(events.size() == 4);
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(events[i]["args"]["number"] == 4 + i);
}

TEST_CASE("text is escaped") {
  CHECK(json_escaped("a\"b\\c\n\x01") == "a\\\"b\\\\c\\u000a\\u0001");
}

TEST_CASE("counters as JSON and for Prometheus") {
  const Counter counters[] = {{"steps", "Steps that have ended", 12},
                              {"wait_seconds", "Time in waits", 0.5},
                              {"lane_bytes", "Bytes by lane", 0, {8, 16}}};
  const json parsed = json::parse(counters_json(counters, {}, {1}));
  CHECK(parsed["schema"] == "fastgpu.comm.counters/1");
  CHECK(parsed["rank"] == 1);
  CHECK(parsed["counters"] == json{{"steps", 12}, {"wait_seconds", 0.5}, {"lane_bytes", {8, 16}}});
  CHECK(counters_prometheus({counters, 1}, {}, {1}) ==
        "# HELP fastgpu_comm_steps_total Steps that have ended\n"
        "# TYPE fastgpu_comm_steps_total counter\n"
        "fastgpu_comm_steps_total{rank=\"1\"} 12\n");
  CHECK(counters_prometheus({counters + 2, 1}, {}, {1}) ==
        "# HELP fastgpu_comm_lane_bytes_total Bytes by lane\n"
        "# TYPE fastgpu_comm_lane_bytes_total counter\n"
        "fastgpu_comm_lane_bytes_total{rank=\"1\",lane=\"0\"} 8\n"
        "fastgpu_comm_lane_bytes_total{rank=\"1\",lane=\"1\"} 16\n");
}

TEST_CASE("the counts of networks as JSON") {
  const std::vector<LinkCounters> links{
      {.name = "shared memory", .frames_sent = 3},
      {.name = "tcp \"10.0.0.1\"", .bytes_received = std::uint64_t{1} << 60, .failures = 2}};
  const json parsed = json::parse(links_json(links, {1}));
  CHECK(parsed["rank"] == 1);
  REQUIRE(parsed["links"].size() == 2);
  CHECK(parsed["links"][0]["name"] == "shared memory");
  CHECK(parsed["links"][0]["frames_sent"] == 3);
  CHECK(parsed["links"][1]["name"] == "tcp 10.0.0.1");
  CHECK(parsed["links"][1]["bytes_received"] == std::uint64_t{1} << 60);
  CHECK(parsed["links"][1]["failures"] == 2);
}

TEST_CASE("the counts of networks follow the others, once as JSON and once for Prometheus") {
  const Counter counter{"steps", "Steps that have ended", 12};
  const std::vector<LinkCounters> links{
      {.name = "tcp \"10.0.0.1\"", .bytes_sent = std::uint64_t{1} << 60, .connections = 4},
      {.name = "fabric tcp eth1", .failures = 1}};
  const json parsed = json::parse(counters_json({&counter, 1}, links, {1}));
  CHECK(parsed["counters"]["steps"] == 12);
  REQUIRE(parsed["links"].size() == 2);
  CHECK(parsed["links"][0]["bytes_sent"] == std::uint64_t{1} << 60);
  CHECK(parsed["links"][0]["connections"] == 4);
  CHECK(parsed["links"][1]["failures"] == 1);

  const std::string text = counters_prometheus({&counter, 1}, links, {1});
  const auto has = [&](const std::string& line) {
    return text.find("\n" + line + "\n") != std::string::npos;
  };
  CHECK(has("# TYPE fastgpu_comm_link_bytes_sent_total counter"));
  CHECK(has(
      R"(fastgpu_comm_link_bytes_sent_total{rank="1",link="tcp 10.0.0.1"} 1152921504606846976)"));
  CHECK(has(R"(fastgpu_comm_link_failures_total{rank="1",link="fabric tcp eth1"} 1)"));
  CHECK(has("# TYPE fastgpu_comm_link_connections gauge"));
  CHECK(has(R"(fastgpu_comm_link_connections{rank="1",link="tcp 10.0.0.1"} 4)"));
}

TEST_CASE("the quickest round trip says how far clocks are apart, and how well that is known") {
  std::mt19937 random(1);
  for (int run = 0; run < 200; ++run) {
    const auto ahead = std::chrono::nanoseconds(static_cast<int>(random() % 2'000'000) - 1'000'000);
    std::vector<RoundTrip> trips;
    for (int i = 0; i < 8; ++i) {
      const std::chrono::nanoseconds there(1000 + random() % 100'000);
      const std::chrono::nanoseconds back(1000 + random() % 100'000);
      const std::chrono::nanoseconds sent(random());
      trips.push_back({sent, sent + there - ahead, sent + there + back});
    }
    const ClockOffset offset = clock_offset(trips);
    CHECK(offset.ahead - ahead <= offset.uncertainty);
    CHECK(ahead - offset.ahead <= offset.uncertainty);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
