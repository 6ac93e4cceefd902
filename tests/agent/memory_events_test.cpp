#include "agent/jobs/memory_events.hpp"

#include <doctest/doctest.h>

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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
