// Ranks that are silent, compute for long or die, and links that are cut.
#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/pipe.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "support/blaming_ranks.hpp"
#include "support/child.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::BlamingRanks;
using test::communicators_in_process;
using test::failure_in;
using test::failure_of;
using test::mentions;
using test::outcomes_of_ranks;
using test::status_of;
using Clock = std::chrono::steady_clock;

/// On the busiest machine, and still far from a deadline of 60 s.
constexpr auto kAtOnce = 20s;

/// The process `rank` of three, which reduces until something fails: exits with 0 where that names
/// rank 1.
[[noreturn]] void reduce_for_ever(Connections connections, SharedMemory shared_memory) {
  int status = 1;
  try {
    introduce(connections, test::wishes(shared_memory, 1), Deadline(10s));
    Communicator comm(std::move(connections));
    std::vector<float> values(1 << 20);
    for (;;)
      comm.all_reduce(std::span(values), ReduceOp::sum);
  } catch (const Error& e) {
    if (mentions(e, "rank 1")) status = 0;
  }
  ::_exit(status);
}

TEST_SUITE_BEGIN("comm/faults");

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
    CHECK(Clock::now() - begin < kAtOnce);
    for (const std::size_t r : {0, 1, 3}) {
      const Error e = failure_in(outcomes[r]);
      CHECK(e.kind() == ErrorKind::transient);
      INFO("failure: ", std::string(e.what()));
      CHECK(mentions(e, "rank 2 "));
      CHECK(mentions(e, " nothing for 300ms"));
    }
  }
}

TEST_CASE("a rank that waits itself is believed, however much later its wait began") {
  auto ranks = communicators_in_process(3, 4s);
  std::latch ended(2);
  std::array<std::string, 2> said;
  test::run_ranks(ranks, [&](Communicator& comm) {
    if (comm.rank() == Rank{2}) return ended.wait();  // Silent.
    const bool is_first = comm.rank() == Rank{0};
    if (is_first) std::this_thread::sleep_for(1s);
    std::byte byte{};
    try {
      comm.receive(std::span(&byte, 1), {is_first ? 2 : 0});
    } catch (const Error& e) {
      said[is_first ? 0 : 1] = e.what();
    }
    ended.count_down();
  });
  for (const std::string& sentence : said)
    CHECK_MESSAGE(sentence.find("rank 2 sent nothing for 4s") != std::string::npos, sentence);
}

TEST_CASE("a rank that is killed in the middle of a collective is named by the others at once") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto connections = test::sockets_in_process(3, 60s);
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
    CHECK(Clock::now() - begin < kAtOnce);
  }
}

TEST_CASE("a rank that leaves is blamed by all that fail because of it, and blames none") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    BlamingRanks job(4, 20s, shared_memory);
    outcomes_of_ranks(job.ranks, [](std::optional<Communicator>& comm) {
      std::vector<float> values(100'000);
      comm->all_reduce(std::span(values), ReduceOp::sum);
      if (comm->rank() == Rank{1}) return comm.reset();
      for (;;)
        comm->all_reduce(std::span(values), ReduceOp::sum);
    });
    CHECK(job.seen() == std::vector{1, -1, 1, 1});
  }
}

TEST_CASE("a rank that gives up blames none, and is blamed by the others") {
  BlamingRanks job(3, 20s, SharedMemory::on);
  outcomes_of_ranks(job.ranks, [](std::optional<Communicator>& comm) {
    if (comm->rank() == Rank{2}) return comm->give_up(Error(ErrorKind::remote, "the disk is full"));
    std::vector<float> values(100'000);
    comm->all_reduce(std::span(values), ReduceOp::sum);
  });
  CHECK(job.seen() == std::vector{2, 2, -1});
}

TEST_CASE("a rank that is silent for too long is blamed by the others, and blames none of them") {
  BlamingRanks job(3, 300ms, SharedMemory::on);
  std::latch ended(2);
  outcomes_of_ranks(job.ranks, [&](std::optional<Communicator>& comm) {
    std::vector<float> values(100'000);
    if (comm->rank() == Rank{1}) ended.wait();
    try {
      comm->all_reduce(std::span(values), ReduceOp::sum);
    } catch (const Error&) {
      if (comm->rank() != Rank{1}) ended.count_down();
    }
  });
  CHECK(job.seen() == std::vector{1, -1, 1});
}

TEST_CASE("ranks that make only calls of few bytes notice that a third has failed") {
  auto ranks = communicators_in_process(3, 20s);
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    const bool is_third = comm.rank().value == 2;
    auto pair = comm.split(is_third ? 1 : 0, 0);
    if (is_third) return comm.give_up(Error(ErrorKind::remote, "the disk is full"));
    std::vector<float> value(1);
    for (const auto end = Clock::now() + 10s; Clock::now() < end;)
      pair->all_reduce(std::span(value), ReduceOp::sum);
  });
  CHECK(mentions(failure_in(outcomes[0]), "the disk is full"));
  CHECK(mentions(failure_in(outcomes[1]), "the disk is full"));
}

TEST_CASE("ranks that wait for each other in different groups are told so, and who waits where") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(3, 600s, shared_memory);
    const auto begin = Clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      auto group = *comm.split(0, 0);
      float value = 1;
      if (comm.rank() == Rank{1}) group.barrier();
      if (comm.rank() != Rank{1}) comm.all_reduce(std::span(&value, 1), ReduceOp::sum);
    });
    CHECK(Clock::now() - begin < 100s);
    for (const auto& outcome : outcomes) {
      const Error e = failure_in(outcome);
      INFO("failure: ", std::string(e.what()));
      CHECK(e.kind() == ErrorKind::usage);
      CHECK(mentions(e, "none can go on"));
      CHECK(mentions(e, "rank 0 waits in all_reduce number"));
      CHECK(mentions(e, "rank 1 waits in barrier number 0 of communicator 1 for rank 0"));
    }
  }
}

TEST_CASE("a rank that computes for long is warned of, and no dead end is seen") {
  auto connections = test::sockets_in_process(3, 600s);
  std::mutex mutex;
  std::vector<std::string> warnings;
  test::run_ranks(connections, [&](Connections& rank) {
    introduce(rank, test::wishes(SharedMemory::on, 1), Deadline(20s));
    rank.silence = 300ms;
    rank.warn = [&](const std::string& sentence) {
      const std::lock_guard lock(mutex);
      warnings.push_back(sentence);
    };
  });
  std::vector<Communicator> ranks;
  for (Connections& rank : connections)
    ranks.emplace_back(std::move(rank));
  test::run_ranks(ranks, [](Communicator& comm) {
    if (comm.rank() == Rank{2}) std::this_thread::sleep_for(5s);
    comm.barrier();
  });
  CHECK_FALSE(warnings.empty());
  for (const std::string& sentence : warnings) {
    CHECK(sentence.find(" has sent nothing for ") != std::string::npos);
    CHECK(sentence.find("FASTGPU_COMM_TIMEOUT") != std::string::npos);
  }
}

TEST_CASE("a rank that many operations wait for is warned of once, and not for each of them") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto connections = test::sockets_in_process(2, 600s);
    std::vector<std::vector<std::string>> warnings(2);
    test::run_ranks(connections, [&](Connections& rank) {
      introduce(rank, test::wishes(shared_memory, 1), Deadline(20s));
      rank.silence = 900ms;
      auto& own = warnings[static_cast<std::size_t>(rank.rank.value)];
      rank.warn = [&own](const std::string& sentence) { own.push_back(sentence); };
    });
    std::vector<Communicator> ranks;
    for (Connections& rank : connections)
      ranks.emplace_back(std::move(rank));
    test::run_ranks(ranks, [](Communicator& comm) {
      std::vector<std::vector<std::byte>> messages(40, std::vector<std::byte>(8));
      std::vector<Handle> pending;
      if (comm.rank() == Rank{0}) {
        for (auto& message : messages)
          pending.push_back(comm.start_receive(message, {1}));
      } else {
        std::this_thread::sleep_for(
            2500ms);  // Ends in the second interval, of three times as long.
        for (auto& message : messages)
          comm.send(message, {0});
      }
      for (Handle& each : pending)
        each.wait();
    });
    CHECK(warnings[0].size() == 1);
    CHECK(warnings[1].empty());
  }
}

TEST_CASE("a thread that computes while another waits may still make the call that is missing") {
  auto ranks = communicators_in_process(2, 600s);
  CHECK_NOTHROW(test::run_ranks(ranks, [](Communicator& comm) {
    auto group = *comm.split(0, 0);  // This thread has waited, and waits again later.
    const bool is_first = comm.rank() == Rank{0};
    Handle mine = is_first ? comm.start_barrier() : group.start_barrier();
    std::jthread waiting([&] { mine.wait(); });
    std::this_thread::sleep_for(5s);
    (is_first ? group : comm).barrier();
  }));
}

TEST_CASE("a process that keeps the connections of a dead rank open does not hide its death") {
  auto connections = test::sockets_in_process(2, 600s);
  Pipe test_runs = make_pipe();  // Closed when the test has ended.
  const pid_t rank = ::fork();
  REQUIRE(rank >= 0);
  if (rank == 0) {
    Connections own = std::move(connections[1]);
    connections.clear();
    introduce(own, test::wishes(SharedMemory::on, 1), Deadline(20s));
    Communicator comm(std::move(own));
    comm.barrier();
    // As what makes processes without the C library's fork().
    if (::syscall(SYS_fork) == 0) {
      test_runs.write_end = UniqueFd();
      char byte = 0;
      [[maybe_unused]] const auto read =
          ::read(test_runs.read_end.get(), &byte, 1);  // Until the test has ended.
      ::_exit(0);
    }
    ::kill(::getpid(), SIGKILL);
  }
  Connections own = std::move(connections[0]);
  connections.clear();
  introduce(own, test::wishes(SharedMemory::on, 1), Deadline(20s));
  const auto begin = Clock::now();
  Communicator comm(std::move(own));
  comm.barrier();
  const Error e = failure_of([&] {
    comm.barrier();
    comm.barrier();
  });
  CHECK(mentions(e, "rank 1"));
  CHECK(Clock::now() - begin < kAtOnce);
  CHECK(status_of(rank) == 128 + SIGKILL);
}

TEST_CASE("threads that wait for calls of their own do not hold each other up") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(2, 60s, shared_memory);
    const auto begin = Clock::now();
    test::run_ranks(ranks, [&](Communicator& comm) {
      const Rank other{1 - comm.rank().value};
      for (int round = 0; round < 10; ++round) {
        std::array<int, 3> numbers{};
        if (comm.rank() == Rank{1}) {
          for (const std::size_t i : {1, 2, 0}) {
            std::this_thread::sleep_for(10ms);
            comm.send(std::as_bytes(std::span(&numbers[i], 1)), other);
          }
          continue;
        }
        std::vector<Handle> handles;
        for (int& number : numbers)
          handles.push_back(
              comm.start_receive(std::as_writable_bytes(std::span(&number, 1)), other));
        std::vector<std::jthread> threads;
        for (Handle& handle : handles)
          threads.emplace_back([&handle] { handle.wait(); });
      }
    });
    CHECK(Clock::now() - begin < 3s);  // 300 ms, but for what sleeps without need.
  }
}

/// Passes bytes on between two ranks, both ways, but not while it is cut.
class Cable {
 public:
  Cable(UniqueFd a, UniqueFd b) : ends_{std::move(a), std::move(b)} {}

  void cut() noexcept { is_cut_ = true; }
  void mend() noexcept { is_cut_ = false; }

 private:
  void carry(const std::stop_token& stop) {
    std::vector<char> bytes(1 << 16);
    while (!stop.stop_requested()) {
      pollfd ends[] = {{ends_[0].get(), POLLIN, 0}, {ends_[1].get(), POLLIN, 0}};
      ::poll(ends, 2, 5);
      for (const std::size_t from : {0, 1}) {
        if (is_cut_ || ends[from].revents == 0) continue;
        const ssize_t count = ::recv(ends_[from].get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count <= 0) continue;
        ::send(ends_[1 - from].get(), bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
    }
  }

  UniqueFd ends_[2];
  std::atomic<bool> is_cut_ = false;
  std::jthread thread_{[this](const std::stop_token& stop) { carry(stop); }};
};

/// Two ranks without shared memory, and what connects them.
struct Cabled {
  explicit Cabled(std::chrono::milliseconds timeout) {
    for (int rank = 0; rank < 2; ++rank) {
      auto [end, far_end] = test::socket_pair();
      far_ends.push_back(std::move(far_end));
      Connections connections{.rank = {rank}, .size = 2, .timeout = timeout};
      connections.topology = filled_nodes(2, 1);
      connections.sockets.resize(2);
      connections.sockets[static_cast<std::size_t>(1 - rank)].push_back(std::move(end));
      ranks.emplace_back(std::move(connections));
    }
    cable.emplace(std::move(far_ends[0]), std::move(far_ends[1]));
  }

  std::vector<UniqueFd> far_ends;
  std::optional<Cable> cable;
  std::vector<Communicator> ranks;
};

TEST_CASE("a link that is cut for a while holds up a collective and no more") {
  Cabled job(5s);
  std::vector<float> sums(2);
  std::jthread trouble([&job] {
    for (int i = 0; i < 4; ++i) {
      std::this_thread::sleep_for(5ms);
      job.cable->cut();
      std::this_thread::sleep_for(200ms);
      job.cable->mend();
    }
  });
  test::run_ranks(job.ranks, [&](Communicator& comm) {
    std::vector<float> values(10'000'001, 1);
    comm.all_reduce(std::span(values), ReduceOp::sum);
    sums[static_cast<std::size_t>(comm.rank().value)] = values.front() + values.back();
  });
  CHECK(sums == std::vector{4.0F, 4.0F});
}

TEST_CASE("a link that stays cut is told of at the deadline, by the other end's name") {
  Cabled job(300ms);
  const auto begin = Clock::now();
  std::jthread trouble([&job] {
    std::this_thread::sleep_for(20ms);
    job.cable->cut();
  });
  const auto outcomes = outcomes_of_ranks(job.ranks, [](Communicator& comm) {
    std::vector<float> values(1'000'001, 1);
    for (;;)
      comm.all_reduce(std::span(values), ReduceOp::sum);
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank 1 "));
  CHECK(mentions(failure_in(outcomes[1]), "rank 0 "));
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), " nothing for 300ms"));
  CHECK(Clock::now() - begin < kAtOnce);
}

TEST_CASE("ranks that all compute for longer than the deadline accuse nobody") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(3, 200ms, shared_memory);
    CHECK_NOTHROW(test::run_ranks(ranks, [](Communicator& comm) {
      std::vector<float> a(100, 1);
      GradientExchange exchange(comm);
      exchange.add("a", std::span(a));
      for (int step = 0; step < 2; ++step) {
        std::this_thread::sleep_for(600ms);
        exchange.ready({0});
        exchange.wait_step();
      }
    }));
  }
}

TEST_CASE("a rank that never makes its gradients ready is named by all who wait for it") {
  auto ranks = communicators_in_process(3, 300ms);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> a(100, 1);
    GradientExchange exchange(comm);
    exchange.add("a", std::span(a));
    exchange.all_reduce_gradients(ReduceOp::sum);
    if (comm.rank() == Rank{1}) std::this_thread::sleep_for(1500ms);
    if (comm.rank() != Rank{1}) exchange.all_reduce_gradients(ReduceOp::sum);
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank 1 "));
  CHECK(mentions(failure_in(outcomes[2]), "rank 1 "));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
