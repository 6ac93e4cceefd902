// The guard of a node as a process, with a harmless command in place of powering off.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

#include "agent/protocol/guard.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::run_agent;

struct GuardedHome : test::ScratchHome {
  ~GuardedHome() { run_agent(*this, {"guard-set"}, to_text(GuardOrder{})); }

  void order(GuardOrder order) const {
    order.off = {"touch", off().string()};
    order.period = 50ms;
    const auto answer = run_agent(*this, {"guard-set"}, to_text(order));
    CHECK_MESSAGE(answer.status.ok(), answer.err);
  }
  NodeWatch show() const { return parse_node_watch(run_agent(*this, {"guard-show"}).out); }
  std::filesystem::path off() const { return path() / "off"; }
  bool is_off() const { return std::filesystem::exists(off()); }
};

TEST_SUITE_BEGIN("agent/guard");

TEST_CASE("a node whose time has come powers itself off") {
  const GuardedHome home;
  home.order({.ends = std::time(nullptr) + 1});
  CHECK(eventually([&] { return home.is_off(); }));
  CHECK(eventually([&] { return home.show().looked != 0; }));
  CHECK(home.show().because == "end");
  CHECK(home.show().acts);
}

TEST_CASE("contact puts the end off, and without it the node ends") {
  const GuardedHome home;
  home.order({.unattended = 2s});
  for (int call = 0; call < 8; ++call) {
    std::this_thread::sleep_for(400ms);
    run_agent(home, {"facts"});
  }
  CHECK_FALSE(home.is_off());
  CHECK(eventually([&] { return home.is_off(); }));
}

TEST_CASE("a new order is the only one, and an empty one ends the guard") {
  const GuardedHome home;
  home.order({.ends = std::time(nullptr) + 2});
  home.order({.ends = std::time(nullptr) + 3600});
  std::this_thread::sleep_for(3s);
  CHECK_FALSE(home.is_off());
  CHECK(eventually([&] { return home.show().powers_off > std::time(nullptr) + 3000; }));
  run_agent(home, {"guard-set"}, to_text(GuardOrder{}));
  CHECK_FALSE(std::filesystem::exists(home.path() / ".fastgpu/guard"));
  CHECK(home.show().powers_off == 0);
}

TEST_CASE("what keeps a node awake is told without a guard, too") {
  const test::ScratchHome home;
  process::Command busy{.argv = {"sh", "-c", "while :; do :; done"}};
  process::set_variable(busy.environment.emplace(process::current_environment()),
                        "FASTGPU_JOB_ID=guard-test-1");
  const process::Child child(busy);
  const NodeWatch watch = parse_node_watch(run_agent(home, {"guard-show"}).out);
  CHECK(watch.idle_since == 0);
  CHECK(watch.sent.value_or(0) >= watch.looked);
  const auto is_ours = [](const Waking& w) { return w.kind == "job" && w.what == "guard-test-1"; };
  CHECK(std::ranges::count_if(watch.wakings, is_ours) == 1);
}

TEST_CASE("a job's name with a line end does not hide what keeps a node awake") {
  const test::ScratchHome home;
  process::Command busy{.argv = {"sh", "-c", "while :; do :; done"}};
  process::set_variable(busy.environment.emplace(process::current_environment()),
                        "FASTGPU_JOB_ID=guard\ntest");
  const process::Child child(busy);
  const NodeWatch watch = parse_node_watch(run_agent(home, {"guard-show"}).out);
  const auto is_ours = [](const Waking& w) { return w.kind == "job" && w.what.ends_with("test"); };
  CHECK(std::ranges::count_if(watch.wakings, is_ours) == 1);
}

TEST_CASE("an order that is none is refused") {
  const test::ScratchHome home;
  CHECK_FALSE(run_agent(home, {"guard-set"}, "nonsense").status.ok());
  CHECK_FALSE(std::filesystem::exists(home.path() / ".fastgpu/guard"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
