#include "agent/jobs/memory_events.hpp"

#include <doctest/doctest.h>
#include <string>

namespace fastgpu::agent {
namespace {

using Files = std::vector<std::filesystem::path>;

TEST_SUITE_BEGIN("agent/memory_events");

TEST_CASE("the count of kills is found in the files of both cgroups and of the system") {
  CHECK(oom_kills_in("low 0\nhigh 0\nmax 7\noom 4\noom_kill 3\noom_group_kill 0\n") == 3);
  CHECK(oom_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 12") == 12);
  CHECK(oom_kills_in("oom_kill_disable 1\n") == 0);
  CHECK(oom_kills_in("oom_kill x\n") == 0);
  CHECK(oom_kills_in("") == 0);
}

TEST_CASE("a process's counts are those of its memory group, before those of the system") {
  CHECK(memory_event_files("0::/user.slice/a b\n") ==
        Files{"/sys/fs/cgroup/user.slice/a b/memory.events", "/proc/vmstat"});
  CHECK(memory_event_files("5:devices:/\n4:cpu,memory:/jobs/x\n") ==
        Files{"/sys/fs/cgroup/memory/jobs/x/memory.oom_control",
              "/sys/fs/cgroup/memory/memory.oom_control", "/proc/vmstat"});
  CHECK(memory_event_files("nonsense\n1:memory\n3:cpuset,memory2:/\n") == Files{"/proc/vmstat"});
}

TEST_CASE("a kill that was counted is the program's only if it is being killed then") {
  using namespace std::chrono_literals;
  const KillCount::Time begin{std::chrono::hours(1)};
  KillCount of_another(3);
  of_another.observe(begin, 3, false);
  of_another.observe(begin + 1s, 4, false);
  of_another.observe(begin + 5s, 4, true);
  CHECK_FALSE(of_another.was_the_program());
  KillCount at_once(3);
  at_once.observe(begin + 1s, 4, true);
  CHECK(at_once.was_the_program());
  KillCount before_its_signal(3);
  before_its_signal.observe(begin, 4, false);
  before_its_signal.observe(begin + 900ms, 4, true);
  CHECK(before_its_signal.was_the_program());
  KillCount slow_to_end(3);  // The memory of a large program takes long to be freed.
  slow_to_end.observe(begin, 4, true);
  slow_to_end.observe(begin + 60s, 4, true);
  CHECK(slow_to_end.was_the_program());
  KillCount by_a_user(3);
  by_a_user.observe(begin, 3, true);
  CHECK_FALSE(by_a_user.was_the_program());
}

TEST_CASE("a process that has got SIGKILL, is ending or has gone is being killed") {
  const std::string alive = "12 (a) b) S 7 12 12 0 -1 4194304 1 2 3";
  const std::string ending = "12 (a) b) R 7 12 12 0 -1 4194308 1 2 3";
  CHECK_FALSE(is_being_killed(alive, "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000200\n"));
  CHECK(is_being_killed(alive, "SigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n"));
  CHECK(is_being_killed(ending, ""));
  CHECK(is_being_killed("12 (a) Z 7 12", ""));
  CHECK(is_being_killed("", ""));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
