#include "base/available_memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu {
namespace {

using test::failure_of;
using test::mentions;
using Version = MemoryGroup::Version;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

void put(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST_SUITE_BEGIN("base/available_memory");

TEST_CASE("a number is found by the whole of its key, in kilobytes or in bytes") {
  constexpr std::string_view kMeminfo =
      "MemTotal:  1000 kB\nMemAvailable:     900 kB\nHugePages: 3\n";
  CHECK(memory_value(kMeminfo, "MemAvailable") == 900 * 1024);
  CHECK(memory_value(kMeminfo, "HugePages") == 3);
  CHECK_FALSE(memory_value(kMeminfo, "MemAvail"));
  CHECK_FALSE(memory_value(kMeminfo, "Cached"));
  CHECK(memory_value("total_inactive_file 5\ninactive_file 7\n", "inactive_file") == 7);
  CHECK_FALSE(memory_value("MemAvailable: none kB\n", "MemAvailable"));
  CHECK_FALSE(memory_value("", "MemAvailable"));
}

TEST_CASE("the groups that account for memory are found among the others") {
  CHECK(memory_groups("0::/system.slice/job:1\n") ==
        std::vector<MemoryGroup>{{Version::v2, "/system.slice/job:1"}});
  CHECK(memory_groups("9:name=systemd:/\n4:hugetlb,memory:/a/b\n3:cpuset:/\n0::/\n") ==
        std::vector<MemoryGroup>{{Version::v1, "/a/b"}, {Version::v2, "/"}});
  CHECK(memory_groups("4:memory_other:/a\nnonsense\n:\n").empty());
}

TEST_CASE("a group has its limit less what it uses and cannot drop") {
  CHECK(available_in_group("1000\n", "400\n", "") == 600);
  CHECK(available_in_group("1000\n", "400\n", "inactive_file 100\nactive_file 50\n") == 750);
  CHECK(available_in_group("1000\n", "400\n",
                           "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 500\n") ==
        1000);
  CHECK(available_in_group("1000\n", "1200\n", "") == 0);
  CHECK_FALSE(available_in_group("max\n", "400\n", ""));
  CHECK_FALSE(available_in_group("", "", ""));
}

TEST_CASE("the least of the machine and of each group above the process is available") {
  const test::TempDirectory root;
  CHECK_FALSE(available_memory(root.path()));
  CHECK_NOTHROW(check_available_memory(Bytes{UINT64_MAX}, "memory", root.path()));
  put(root.path() / "proc/meminfo", "MemAvailable: 8000000 kB\n");
  put(root.path() / "proc/self/cgroup", "0::/pod/container\n");
  const auto limited_by_machine = available_memory(root.path());
  REQUIRE(limited_by_machine);
  CHECK(limited_by_machine->size == Bytes{8'000'000 * 1024ull});
  CHECK(limited_by_machine->limited_by == "this machine");

  const auto groups = root.path() / "sys/fs/cgroup";
  put(groups / "pod/container/memory.max", "max\n");
  put(groups / "pod/container/memory.current", "10\n");
  put(groups / "pod/memory.max", "4000000000\n");
  put(groups / "pod/memory.current", "800000000\n");
  const auto limited_by_pod = available_memory(root.path());
  REQUIRE(limited_by_pod);
  CHECK(limited_by_pod->size == Bytes{3'200'000'000});
  CHECK(limited_by_pod->limited_by == "the control group " + (groups / "pod").string());
}

TEST_CASE("a container's own group, which it sees at the mount, limits it") {
  const test::TempDirectory root;
  put(root.path() / "proc/self/cgroup", "4:memory:/docker/0123\n");
  const auto mount = root.path() / "sys/fs/cgroup/memory";
  put(mount / "memory.limit_in_bytes", "2000000000\n");
  put(mount / "memory.usage_in_bytes", "500000000\n");
  const auto available = available_memory(root.path());
  REQUIRE(available);
  CHECK(available->size == Bytes{1'500'000'000});
}

TEST_CASE("memory that there is not is refused with both sizes, and a part is left to others") {
  const test::TempDirectory root;
  put(root.path() / "proc/meminfo", "MemAvailable: 31250000 kB\n");  // 32 GB.
  CHECK_NOTHROW(check_available_memory(Bytes{31 * kGigabyte}, "memory", root.path()));
  const Error e = failure_of(
      [&] { check_available_memory(Bytes{32 * kGigabyte}, "shared memory", root.path()); });
  CHECK(e.kind() == ErrorKind::capacity);
  CHECK(mentions(e, "no room for 32 GB of shared memory: this machine can spare 31 GB"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
