#include "agent/guard/idle.hpp"

#include <doctest/doctest.h>

#include "agent/protocol/records.hpp"
#include "support/failure.hpp"

namespace fastgpu::agent {
namespace {

/// A quiet node ten seconds later: sshd, and the agent that looks, called by a connection.
struct Quiet {
  NodeActivity before{.at = 1000};
  NodeActivity now{.at = 1010};

  Quiet() {
    add({.pid = 1, .began = 100, .title = "/sbin/init"});
    add({.pid = 2, .parent = 1, .began = 100, .title = ""});
    add({.pid = 50, .parent = 1, .began = 900, .title = "sshd: root@notty"});
    add({.pid = 51, .parent = 50, .began = 900, .title = "fastgpu-agent-1 guard-show"});
  }
  /// `used` seconds of processor time in between.
  void add(SeenProcess process, double used = 0) {
    before.processes.push_back(process);
    process.processor += used;
    now.processes.push_back(process);
  }
  std::vector<Waking> wakings() const { return wakings_of(before, now, 51); }
};

TEST_SUITE_BEGIN("agent/idle");

TEST_CASE("on a quiet node nothing is awake but who looks, and that does not count") {
  const Quiet quiet;
  CHECK(quiet.wakings().empty());
  CHECK(idle_since({}, 500) == 500);
}

TEST_CASE("a job is awake as long as one of its processes, however little they do") {
  Quiet node;
  node.add({.pid = 60, .began = 950, .title = "sleep", .job = "train-1"});
  node.add({.pid = 61, .began = 940, .title = "python", .job = "train-1"}, 9);
  const auto wakings = node.wakings();
  REQUIRE(wakings.size() == 1);
  CHECK(wakings[0].kind == "job");
  CHECK(wakings[0].what == "train-1");
  CHECK(wakings[0].since == 940);
  CHECK(idle_since(wakings, 500) == 1010);
}

TEST_CASE("a process is awake from a tenth of a core on") {
  Quiet node;
  node.add({.pid = 60, .began = 100, .processor = 5000, .title = "python train.py"}, 1.0);
  node.add({.pid = 61, .began = 100, .processor = 5000, .title = "cron"}, 0.9);
  node.add({.pid = 62, .began = 100, .title = ""}, 10);  // The kernel's.
  const auto wakings = node.wakings();
  REQUIRE(wakings.size() == 1);
  CHECK(wakings[0].what == "python train.py (60)");
  CHECK(wakings[0].kind == "process");
}

TEST_CASE("a number that another process has taken over is another process") {
  Quiet node;
  node.before.processes.push_back({.pid = 60, .began = 100, .processor = 5000, .title = "old"});
  node.now.processes.push_back({.pid = 60, .began = 1005, .processor = 2, .title = "new"});
  REQUIRE(node.wakings().size() == 1);
  CHECK(node.wakings()[0].what == "new (60)");
}

TEST_CASE("a login is as awake as its last key, a connection as long as it lasts") {
  Quiet node;
  node.add({.pid = 60, .began = 200, .title = "sshd: ada@pts/0"});
  node.add({.pid = 61, .began = 200, .title = "sshd: ada [priv]"});
  node.add({.pid = 62, .began = 300, .title = "sshd-session: ada@notty"});
  node.now.processes.push_back({.pid = 63, .began = 1009, .title = "sshd: ada@notty"});
  node.now.keys_pressed = {{"pts/0", 700}, {"pts/7", 1}};
  const auto wakings = node.wakings();
  REQUIRE(wakings.size() == 2);
  CHECK(wakings[0].what == "ada on pts/0");
  CHECK(wakings[0].last == 700);
  CHECK(wakings[1].kind == "connection");
  CHECK(wakings[1].what == "ada (62)");
  CHECK(idle_since({wakings[0]}, 500) == 700);
}

TEST_CASE("a GPU is awake while it computes, and known by its first look") {
  Quiet node;
  node.now.gpus = {{0, 4}, {1, 87}};
  auto wakings = node.wakings();
  REQUIRE(wakings.size() == 1);
  CHECK(wakings[0].what == "GPU 1");
  keep_beginnings(wakings, {}, 1010);
  CHECK(wakings[0].since == 1010);
  auto later = node.wakings();
  keep_beginnings(later, wakings, 1020);
  CHECK(later[0].since == 1010);
}

TEST_CASE("a call, one that still goes on, and a pressed key are contacts") {
  Quiet node;
  CHECK(last_contact(node.now) == 0);
  node.now.contact = 400;
  node.now.keys_pressed = {{"pts/0", 700}};
  CHECK(last_contact(node.now) == 700);
  node.add({.pid = 60, .began = 1, .title = "/root/.fastgpu/bin/fastgpu-agent-1 rank x"});
  CHECK(last_contact(node.now) == 700);
  node.add({.pid = 61, .began = 1, .title = "/root/.fastgpu/bin/fastgpu-agent-1 job-follow x"});
  CHECK(last_contact(node.now) == 1010);
}

TEST_CASE("a node powers itself off at the nearest of what it was told") {
  using std::chrono::seconds;
  NodeWatch watch{.idle_since = 1000};
  set_power_off(watch, {}, 900);
  CHECK(watch.powers_off == 0);
  CHECK_FALSE(watch.acts);
  set_power_off(
      watch, {.ends = 5000, .unattended = seconds(3000), .idle = seconds(60), .off = {"x"}}, 900);
  CHECK(watch.powers_off == 1060);
  CHECK(watch.because == "idle");
  CHECK(watch.acts);
  set_power_off(watch, {.ends = 5000, .unattended = seconds(3000)}, 900);
  CHECK(watch.because == "unattended");
  CHECK(watch.powers_off == 3900);
  set_power_off(watch, {.ends = 3000, .unattended = seconds(3000)}, 900);
  CHECK(watch.because == "end");
}

TEST_CASE("orders and what nodes say are read as they were written") {
  const GuardOrder order{
      .ends = 7, .idle = std::chrono::seconds(9), .off = {"shutdown", "-P", "now"}};
  CHECK(to_text(parse_guard_order(to_text(order))) == to_text(order));
  CHECK(GuardOrder{}.is_empty());
  CHECK_FALSE(order.is_empty());
  NodeWatch watch{.looked = 3, .idle_since = 2, .powers_off = 9, .because = "idle", .acts = true};
  watch.wakings = {{"job", "a=b", 1, 2}, {"login", "ada on pts/0", 3, 4}};
  const NodeWatch again = parse_node_watch(to_text(watch));
  CHECK(to_text(again) == to_text(watch));
  CHECK(again.wakings[0].what == "a=b");
}

TEST_CASE("no name of a job or of a process can break what a node says about itself") {
  for (const std::string& name :
       {std::string("a\nb"), std::string("a\nkind=login\nwhat=root"), std::string("\\0"),
        std::string("\\"), std::string("\\n\\\\"), std::string("=\t\r\x1b\xff"), std::string()}) {
    CAPTURE(name);
    NodeWatch watch;
    watch.wakings = {{"job", name, 1, 2}, {name, "ada on pts/0", 3, 4}};
    const NodeWatch again = parse_node_watch(to_text(watch));
    REQUIRE(again.wakings.size() == 2);
    CHECK(again.wakings[0].what == name);
    CHECK(again.wakings[1].kind == name);
    CHECK(again.wakings[1].last == 4);
  }
}

TEST_CASE("records in records with a broken escape are refused") {
  for (const char* value : {"kind=job\\", "kind=job\\x", "kind"}) {
    CAPTURE(value);
    Records records;
    records.add("one", value);
    CHECK(test::failure_of([&] { records.nested("one", "a waking"); }).kind() == ErrorKind::remote);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
