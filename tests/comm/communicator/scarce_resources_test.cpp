// Ranks without descriptors, memory or room in /dev/shm to spare, and those in a forked child.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/trace/rank_files.hpp"
#include "support/child.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_of;
using test::mentions;
using test::status_of;

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& exchange : std::filesystem::directory_iterator(folder))
    names.insert(exchange.path().filename().string());
  return names;
}

/// Two ranks that average gradients and reduce memory of the heap, if there is any; true where
/// everything is right.
bool two_ranks_work(std::vector<Communicator>& ranks) {
  std::vector<float> results(2);
  test::run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> a(300'000, static_cast<float>(comm.rank().value));
    GradientExchange exchange(comm);
    exchange.add("a", std::span(a));
    exchange.all_reduce_gradients(ReduceOp::average);
    results[static_cast<std::size_t>(comm.rank().value)] = a.front() + a.back();
  });
  return results == std::vector{1.0F, 1.0F};
}

TEST_SUITE_BEGIN("comm/faults");

TEST_CASE("a child made by fork is refused by the rank's name, and holds no connection open") {
  const test::ChildEnd end = test::in_child([] {
    auto ranks = communicators_in_process(2, 5s);
    const pid_t child = ::fork();
    if (child == 0) {
      const Error e = failure_of([&] { ranks[1].barrier(); });
      const bool is_told = e.kind() == ErrorKind::usage && mentions(e, "forked from rank 1");
      ranks.clear();  // Nothing is waited for.
      ::_exit(is_told ? 0 : 1);
    }
    if (status_of(child) != 0) return 1;
    return two_ranks_work(ranks) ? 0 : 2;
  });
  CHECK(end.status == 0);
  CHECK(end.signal == 0);
}

TEST_CASE("memory that there is not is refused, and the job goes on") {
  auto ranks = communicators_in_process(2, 5s);
  CHECK(failure_of([&] { ranks[0].allocate(std::size_t{1} << 50); }).kind() == ErrorKind::capacity);
  CHECK(failure_of([&] { ranks[0].allocate(SIZE_MAX); }).kind() == ErrorKind::capacity);
  CHECK_NOTHROW(test::run_ranks(ranks, [](Communicator& comm) { comm.barrier(); }));
}

TEST_CASE("memory that is not of the heap cannot be freed there") {
  auto ranks = communicators_in_process(1, 5s);
  std::vector<std::byte> own(10);
  CHECK(failure_of([&] { ranks[0].free(own); }).kind() == ErrorKind::usage);
}

TEST_CASE("a process without a descriptor to spare works without sharing more memory") {
  for (const bool is_connected_before : {true, false}) {
    const test::ChildEnd end = test::in_child([&] {
      const rlimit few{96, 96};
      ::setrlimit(RLIMIT_NOFILE, &few);
      std::vector<UniqueFd> hoard;
      const auto use_up = [&hoard] {
        for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
          hoard.emplace_back(fd);
      };
      auto connections = test::sockets_in_process(2, 5s);
      std::vector<Communicator> ranks;
      if (!is_connected_before) use_up();
      test::run_ranks(connections, [&](Connections& rank) {
        introduce(rank, test::wishes(SharedMemory::on, 1), Deadline(5s));
      });
      hoard.clear();
      for (Connections& rank : connections)
        ranks.emplace_back(std::move(rank));
      use_up();
      return two_ranks_work(ranks) ? 0 : 1;
    });
    CAPTURE(is_connected_before);
    CHECK(end.status == 0);
    CHECK(end.signal == 0);
  }
}

TEST_CASE("ranks whose files may have few bytes share no memory, and are not ended by a signal") {
  for (const rlim_t most : {4'000UL, 30'000'000UL}) {
    const test::ChildEnd end = test::in_child([&] {
      const rlimit limit{most, most};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      auto ranks = communicators_in_process(2, 5s);
      if (!two_ranks_work(ranks)) return 1;
      if (most == 4'000) return 0;
      const Error e = failure_of([&] { ranks[0].allocate(100'000'000); });
      return mentions(e, "the files of this process may have 30 MB") ? 0 : 2;
    });
    CAPTURE(most);
    CHECK(end.status == 0);
    CHECK(end.signal == 0);
  }
}

TEST_CASE("the timeline of a rank whose files may have few bytes is left out, with a warning") {
  const test::TempDirectory folder;
  const test::ChildEnd end = test::in_child([&] {
    const rlimit limit{4'000, 4'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string said;
    const auto warn = [&](const std::string& sentence) { said = sentence; };
    RankFiles files("FASTGPU_COMM_TIMELINE", folder.path().string(), Rank{0}, warn);
    files.write(".json", [](std::ostream& out) { out << std::string(100'000, 'x'); });
    return said.ends_with("rank 0 cannot write rank-0.json there: File too large") ? 0 : 1;
  });
  CHECK(end.status == 0);
  CHECK(end.signal == 0);
}

TEST_CASE("a full /dev/shm does not matter, and nothing is left there") {
  if (::geteuid() != 0) return;  // Who may not mount cannot fill it either.
  const auto before = names_in("/dev/shm");
  const test::ChildEnd end = test::in_child([] {
    if (::unshare(CLONE_NEWNS) != 0) return 77;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k") != 0)
      return 77;
    auto ranks = communicators_in_process(2, 5s);
    const auto memory = ranks[0].allocate(50 << 20);
    return memory.size() == 50 << 20 && two_ranks_work(ranks) && names_in("/dev/shm").empty() ? 0
                                                                                              : 1;
  });
  CHECK((end.status == 0 || end.status == 77));
  CHECK(names_in("/dev/shm") == before);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
