#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_of;
using test::outcomes_of_ranks;
using Clock = std::chrono::steady_clock;

bool mentions(const Error& e, const std::string& text) {
  return std::string(e.what()).find(text) != std::string::npos;
}

Error failure_in(const std::exception_ptr& outcome) {
  return failure_of([&] {
    if (outcome) std::rethrow_exception(outcome);
  });
}

/// Rank 0 of two, over a socket; the other end of it plays rank 1.
struct Impostor {
  Impostor() {
    auto connections = test::sockets_in_process(2, 2s);
    end = std::move(connections[1].sockets[0].front());
    connections[0].topology = filled_nodes(2, 1);
    victim.emplace(std::move(connections[0]));
  }

  void say(std::span<const std::byte> bytes) const {
    ::send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void say(const Frame& frame) const { say(encode(frame)); }

  /// What rank 0 makes of it in an all-reduce of `bytes` bytes.
  Error failure(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    return failure_of([&] {
      victim->all_reduce(std::span(data), {ElementType::float32, ReduceOp::sum});
    });
  }

  UniqueFd end;
  std::optional<Communicator> victim;
};

/// The process `rank` of three, which reduces until something fails: exits with 0 where that names
/// rank 1.
[[noreturn]] void reduce_for_ever(Connections connections, SharedMemory shared_memory) {
  int status = 1;
  try {
    introduce(connections, {shared_memory, 1}, Deadline(10s));
    Communicator comm(std::move(connections));
    std::vector<float> values(1 << 20);
    for (;;)
      comm.all_reduce(std::span(values), ReduceOp::sum);
  } catch (const Error& e) {
    if (mentions(e, "rank 1")) status = 0;
  }
  ::_exit(status);
}

int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_SUITE_BEGIN("comm/faults");

TEST_CASE("random bytes from a peer end the call with its name") {
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    Impostor impostor;
    std::vector<std::byte> noise(random() % 5000 + kFrameBytes);
    for (std::byte& byte : noise)
      byte = static_cast<std::byte>(random());
    impostor.say(noise);
    const Error e = impostor.failure(400'000);
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "rank 1: it sent what no rank of this version sends"));
  }
}

TEST_CASE("frames that nobody asked for, or that do not fit, end the call with the peer's name") {
  const std::uint64_t huge = std::uint64_t{1} << 60;
  const Frame frames[] = {
      {.kind = FrameKind::chunk, .tag = {5}, .length = 16, .offset = 0, .total = huge},
      {.kind = FrameKind::chunk, .tag = {0}, .length = 16, .offset = huge, .total = huge + 16},
      {.kind = FrameKind::chunk, .tag = {0}, .length = 16, .offset = 0, .total = 24},
      {.kind = FrameKind::chunk, .tag = {0}, .length = 16, .offset = 32, .total = 24},
      {.kind = FrameKind::chunk, .tag = {0}, .length = 1 << 20, .offset = 0, .total = 1 << 20},
      {.kind = FrameKind::note, .tag = {0}, .length = 7},
      {.kind = FrameKind::farewell, .tag = {0}, .length = 1 << 30},
  };
  for (const Frame& frame : frames) {
    Impostor impostor;
    impostor.say(frame);
    impostor.say(std::vector<std::byte>(64));
    const Error e = impostor.failure(4000);
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "rank 1"));
  }
}

TEST_CASE("a farewell is passed on as what it is") {
  Impostor impostor;
  std::vector<std::byte> words{static_cast<std::byte>(ErrorKind::usage)};
  for (const char c : std::string("rank 7 is in another call\x1b[2J"))
    words.push_back(static_cast<std::byte>(c));
  impostor.say(
      Frame{.kind = FrameKind::farewell, .length = static_cast<std::uint32_t>(words.size())});
  impostor.say(words);
  const Error e = impostor.failure(4000);
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "rank 7 is in another call"));
  CHECK(mentions(e, "(rank 1 says so)"));
  CHECK_FALSE(mentions(e, "\x1b"));
}

TEST_CASE("a silent rank is named by all the others, at about the same time") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(4, 300ms, shared_memory);
    const auto begin = Clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(100'000);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      if (comm.rank() == Rank{2}) std::this_thread::sleep_for(1s);
      if (comm.rank() != Rank{2}) comm.all_reduce(std::span(values), ReduceOp::sum);
    });
    CHECK(Clock::now() - begin < 5s);
    for (const std::size_t r : {0, 1, 3}) {
      const Error e = failure_in(outcomes[r]);
      CHECK(e.kind() == ErrorKind::transient);
      CAPTURE(e.what());
      CHECK(mentions(e, "rank 2 "));
      CHECK(mentions(e, " nothing for 300ms"));
    }
  }
}

TEST_CASE("a rank that is killed in the middle of a collective is named by the others at once") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto connections = test::sockets_in_process(3, 20s);
    std::array<pid_t, 3> children{};
    for (std::size_t r = 0; r < 3; ++r) {
      children[r] = ::fork();
      REQUIRE(children[r] >= 0);
      if (children[r] > 0) continue;
      Connections own = std::move(connections[r]);
      connections.clear();
      reduce_for_ever(std::move(own), shared_memory);
    }
    connections.clear();
    std::this_thread::sleep_for(500ms);
    ::kill(children[1], SIGKILL);
    const auto begin = Clock::now();
    CHECK(status_of(children[1]) == 128 + SIGKILL);
    CHECK(status_of(children[0]) == 0);
    CHECK(status_of(children[2]) == 0);
    CHECK(Clock::now() - begin < 5s);
  }
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

TEST_CASE("a rank that has done its part may leave before the others") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    for (int i = 0; i < 20; ++i) {
      auto ranks = communicators_in_process(3, 5s, shared_memory, 2);
      std::vector<std::optional<Communicator>> own;
      for (Communicator& comm : ranks)
        own.emplace_back(std::move(comm));
      CHECK_NOTHROW(test::run_ranks(own, [](std::optional<Communicator>& comm) {
        std::vector<float> values(60'001);
        comm->all_reduce(std::span(values), ReduceOp::sum);
        comm->barrier();
        comm.reset();
      }));
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
