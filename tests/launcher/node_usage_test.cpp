#include "launcher/node_usage.hpp"

#include <doctest/doctest.h>

#include <string>

#include "fakes/fake_ssh.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;
using test::mentions;

const std::string kText =
    "uptime 100.50\n"
    "cpu 300 0 100 500 100 0 10 20 7 0\n"
    "memory 16000000 4000000\n"
    "net virtual 999 999\n"
    "net device 1000 2000\n"
    "net device 10 20\n"
    "net virtual 999 999\n"
    "gpu 0 97 40000 81559\n"
    "gpu 1 [N/A] [N/A] [N/A]\n";

TEST_SUITE_BEGIN("launcher/node_usage");

TEST_CASE("the counters of a node are read from its script's output") {
  const UsageCounters counters = parse_usage(kText);
  CHECK(counters.uptime == 100.5);
  CHECK(counters.all_ticks == 1030);  // Times of guests are in those of the user.
  CHECK(counters.busy_ticks == 430);  // Neither idle nor waiting for a disk.
  CHECK(counters.memory == Bytes{16'000'000ULL << 10U});
  CHECK(counters.memory_available == Bytes{4'000'000ULL << 10U});
  REQUIRE(counters.gpus.size() == 2);
  CHECK(counters.gpus[0].percent == 97);
  CHECK(counters.gpus[0].memory_used == Bytes{40'000ULL << 20U});
  CHECK(counters.gpus[1].index == 1);
  CHECK_FALSE(counters.gpus[1].percent);
  CHECK(counters.gpus[1].memory == Bytes{});
}

TEST_CASE("a node whose nvidia-smi does not answer says so") {
  CHECK_FALSE(parse_usage(kText).is_gpu_tool_silent);
  const UsageCounters silent = parse_usage(std::string(kText) + "gpu_tool_silent\n");
  CHECK(silent.is_gpu_tool_silent);
  CHECK(usage_between(parse_usage(kText), silent).is_gpu_tool_silent);
}

TEST_CASE("virtual interfaces count where a node has no others") {
  CHECK(parse_usage(kText).received == Bytes{1010});
  CHECK(parse_usage(kText).sent == Bytes{2020});
  const UsageCounters without_device =
      parse_usage("uptime 1\ncpu 1 1 1 1\nmemory 2 1\nnet virtual 5 6\nnet virtual 7 8\n");
  CHECK(without_device.received == Bytes{12});
  CHECK(without_device.sent == Bytes{14});
}

TEST_CASE("output that is not of the script is an error with the line") {
  for (const std::string wrong :
       {"cpu a\n", "memory 5\n", "memory 5 6\n", "net device 1\n", "gpu x\n", "hello\n", "uptime\n",
        "cpu 1 2\n", "net device -1 x\n"}) {
    CAPTURE(wrong);
    const Error e = failure_of([&] { parse_usage(kText + wrong); });
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "its counters make no sense: '" + wrong.substr(0, wrong.size() - 1)));
  }
  CHECK(failure_of([] { parse_usage(""); }).kind() == ErrorKind::remote);
  CHECK(failure_of([] { parse_usage("uptime 5\n"); }).kind() == ErrorKind::remote);
}

TEST_CASE("usage is what was counted between two readings, a second") {
  UsageCounters before = parse_usage(kText);
  UsageCounters after = before;
  after.uptime += 2;
  after.all_ticks += 800;
  after.busy_ticks += 200;
  after.received.count += 4'000'000;
  after.sent.count += 1'000;
  const NodeUsage usage = usage_between(before, after);
  CHECK(usage.busy == 0.25);
  CHECK(usage.received_each_second == Bytes{2'000'000});
  CHECK(usage.sent_each_second == Bytes{500});
  CHECK(usage.memory_used == Bytes{12'000'000ULL << 10U});
  CHECK(usage.gpus.size() == 2);
}

TEST_CASE("a node that was restarted in between counts from its start") {
  const UsageCounters before = parse_usage(kText);
  UsageCounters after = before;
  after.uptime = 10;
  after.all_ticks = 1000;
  after.busy_ticks = 500;
  after.received = {500};
  const NodeUsage usage = usage_between(before, after);
  CHECK(usage.busy == 0.5);
  CHECK(usage.received_each_second == Bytes{50});
}

TEST_CASE("two readings at the same time show an idle node") {
  const UsageCounters counters = parse_usage(kText);
  const NodeUsage usage = usage_between(counters, counters);
  CHECK(usage.busy == 0);
  CHECK(usage.sent_each_second == Bytes{});
}

TEST_CASE("a node that fails does not hide the others") {
  test::FakeSsh client([](const test::FakeSsh::Seen& seen) -> test::FakeReply {
    if (seen.host == "demo-1") return {.failure = Error(ErrorKind::transient, "refused")};
    if (seen.host == "demo-2") return {.exit = {.status = 1}, .err = "sh: no /proc\n"};
    return {.out = kText};
  });
  const std::vector<ssh::Host> hosts = {
      {.name = {"demo-0"}}, {.name = {"demo-1"}}, {.name = {"demo-2"}}};
  const auto found = read_usage(client, hosts, std::chrono::seconds(5), Cancel());
  REQUIRE(found.size() == 3);
  CHECK(found[0].ok());
  CHECK(mentions(found[1].error(), "refused"));
  CHECK(mentions(found[2].error(), "no /proc"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
