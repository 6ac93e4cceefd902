#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <latch>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/pipe.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "support/child.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_in;
using test::failure_of;
using test::mentions;
using test::outcomes_of_ranks;
using Clock = std::chrono::steady_clock;

/// Rank 0 of two, over a socket; the other end of it plays rank 1.
struct Impostor {
  Impostor() {
    auto connections = test::sockets_in_process(2, 2s);
    end = std::move(connections[1].sockets[0].front());
    connections[0].topology = filled_nodes(2, 1);
    victim.emplace(std::move(connections[0]));
  }

  void send(std::span<const std::byte> bytes) const {
    ::send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void send(const Frame& frame) const { send(encode(frame)); }
  void send_abort(ErrorKind kind, std::string_view text) const {
    std::vector<std::byte> words{static_cast<std::byte>(kind)};
    for (const char c : text)
      words.push_back(static_cast<std::byte>(c));
    send(Frame{.kind = TcpFrameKind::abort, .length = static_cast<std::uint32_t>(words.size())});
    send(words);
  }

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

int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool two_ranks_work(std::vector<Communicator>& ranks);

TEST_SUITE_BEGIN("comm/faults");

TEST_CASE("random bytes from a peer end the call with its name") {
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    Impostor impostor;
    std::vector<std::byte> noise(random() % 5000 + kFrameBytes);
    for (std::byte& byte : noise)
      byte = static_cast<std::byte>(random());
    impostor.send(noise);
    const Error e = impostor.failure(400'000);
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "rank 1: it sent what no rank of this version sends"));
  }
}

TEST_CASE("frames that nobody asked for, or that do not fit, end the call with the peer's name") {
  const std::uint64_t huge = std::uint64_t{1} << 60;
  const Frame frames[] = {
      {.kind = TcpFrameKind::chunk, .tag = {5}, .length = 16, .offset = 0, .total = huge},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = 16, .offset = huge, .total = huge + 16},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = 16, .offset = 0, .total = 24},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = 16, .offset = 32, .total = 24},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = kMostChunkBytes + 1, .total = 2 << 20},
      {.kind = TcpFrameKind::note, .tag = {0}, .length = 7},
      {.kind = TcpFrameKind::abort, .tag = {0}, .length = 1 << 30},
  };
  for (const Frame& frame : frames) {
    Impostor impostor;
    impostor.send(frame);
    impostor.send(std::vector<std::byte>(64));
    const Error e = impostor.failure(4000);
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "rank 1"));
  }
}

TEST_CASE("a farewell is passed on as what it is") {
  Impostor impostor;
  impostor.send_abort(ErrorKind::usage, "rank 7 is in another call\x1b[2J");
  const Error e = impostor.failure(4000);
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "rank 7 is in another call"));
  CHECK(mentions(e, "(rank 1 says so)"));
  CHECK_FALSE(mentions(e, "\x1b"));
}

TEST_CASE("what a rank said when it gave up is heard before it is missed as a receiver") {
  constexpr std::size_t kBytes = 400'000;  // In two halves: what comes of the first is sent back.
  Impostor impostor;
  const std::vector<std::byte> half(kBytes / 2);
  for (std::size_t sent = 0; sent < half.size();) {
    const std::size_t size = std::min(half.size() - sent, kChunkBytes);
    impostor.send(Frame{.kind = TcpFrameKind::chunk,
                        .tag = {0},
                        .length = static_cast<std::uint32_t>(size),
                        .offset = sent,
                        .total = half.size()});
    impostor.send(std::span(half).subspan(sent, size));
    sent += size;
  }
  impostor.send_abort(ErrorKind::remote, "rank 7: Connection reset by peer");
  impostor.end = {};
  const Error e = impostor.failure(kBytes);
  INFO("failure: ", std::string(e.what()));
  CHECK(mentions(e, "rank 7: Connection reset by peer (rank 1 says so)"));
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
      CHECK(mentions(e, "rank 1 waits in barrier number 0"));
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
