#include "comm/communicator/join.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/meeting_points.hpp"
#include "comm/rendezvous/stream.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/free_port.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::failure_in;
using test::failure_of;
using test::free_port;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::sockets_in_process;

constexpr auto kLong = 20s;
constexpr auto kShort = 1s;

Endpoint loopback(std::uint16_t port) {
  Endpoint endpoint{.port = port};
  endpoint.address[0] = std::byte{127};
  endpoint.address[3] = std::byte{1};
  return endpoint;
}

struct JoinMeeting {
  int size = 2;
  std::string secret = "a shared secret";
  std::chrono::milliseconds timeout = kLong;
  std::uint16_t port = free_port();

  JobPlace place(int rank) const {
    return {.rank = {rank},
            .size = size,
            .master_host = "127.0.0.1",
            .master_port = port,
            .secret = Secret(secret),
            .timeout = timeout};
  }

  std::vector<JobPlace> places() const {
    std::vector<JobPlace> all;
    all.reserve(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank)
      all.push_back(place(rank));
    return all;
  }
};

std::vector<Error> failures_of(const std::vector<JobPlace>& places) {
  std::vector<Error> failures;
  for (const auto& outcome : outcomes_of_ranks(places, [](const JobPlace& place) { join(place); }))
    failures.push_back(failure_in(outcome));
  return failures;
}

/// A connection by somebody who is no rank, as soon as rank 0 listens.
UniqueFd connect_stranger(std::uint16_t port) {
  for (;;) {
    PeerConnection connection = connect_to(loopback(port), std::nullopt, Deadline(kLong));
    if (connection.error == 0) return std::move(connection.socket);
  }
}

void send(const UniqueFd& socket, const std::string& text) {
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

/// Sends a whole message of garbage, and ends the connection with a reset instead of a farewell.
void reset(UniqueFd socket) {
  send(socket, std::string(100, 'x'));
  const linger at_once{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/// Joins every place and returns the sum of the ranks plus one, as each of them computed it.
std::vector<std::int32_t> sums_of(const std::vector<JobPlace>& places) {
  std::vector<std::int32_t> sums(places.size());
  run_ranks(places, [&](const JobPlace& place) {
    Communicator comm(join(place));
    std::int32_t value = comm.rank().value + 1;
    comm.all_reduce(std::span(&value, 1), ReduceOp::sum);
    sums[static_cast<std::size_t>(place.rank.value)] = value;
  });
  return sums;
}

TEST_SUITE_BEGIN("comm/rendezvous");

TEST_CASE("two hosts have four connections between them, which their ranks share") {
  const Topology alone{{{Rank{0}}, {Rank{1}}}};
  CHECK(usual_flows(alone, {0}, {1}) == 4);
  const Topology pairs{{{Rank{0}, Rank{1}}, {Rank{2}, Rank{3}}}};
  CHECK(usual_flows(pairs, {0}, {2}) == 2);
  const Topology uneven{{{Rank{0}}, {Rank{1}, Rank{2}, Rank{3}}, {Rank{4}}}};
  CHECK(usual_flows(uneven, {0}, {2}) == usual_flows(uneven, {2}, {0}));
  CHECK(usual_flows(uneven, {0}, {2}) == 1);
  CHECK(usual_flows(uneven, {0}, {4}) == 4);
}

TEST_CASE("ranks agree on the smaller number of connections that either of them wishes for") {
  const auto agreed = [](std::optional<int> one, std::optional<int> other) {
    auto ranks = sockets_in_process(2, kLong);
    std::vector<int> flows(2, 0);
    run_ranks(ranks, [&](Connections& rank) {
      const bool is_first = rank.rank == Rank{0};
      const Wishes wishes{SharedMemory::off, is_first ? one : other};
      const auto all = introduce(rank, wishes, Deadline(kLong)).flows;
      flows[is_first ? 0 : 1] = all[is_first ? 1 : 0];
    });
    CHECK(flows[0] == flows[1]);
    return flows[0];
  };
  CHECK(agreed(std::nullopt, std::nullopt) == kUsualFlows);
  CHECK(agreed(std::nullopt, 2) == 2);
  CHECK(agreed(std::nullopt, 8) == kUsualFlows);
  CHECK(agreed(8, 6) == 6);
}

TEST_CASE("ranks that share no memory are refused if a fabric is required and missing") {
  const auto introduced = [](SharedMemory shared_memory) {
    auto ranks = sockets_in_process(2, kLong);
    std::vector<std::optional<Error>> refusals(2);
    run_ranks(ranks, [&](Connections& rank) {
      const Wishes wishes{
          .shared_memory = shared_memory,
          .fabric = {
              .need = fabric::FabricNeed::welcome, .device = "of no machine", .is_required = true}};
      try {
        introduce(rank, wishes, Deadline(kLong));
      } catch (const Error& e) {
        refusals[static_cast<std::size_t>(rank.rank.value)] = e;
      }
    });
    return refusals;
  };
  for (const auto& refusal : introduced(SharedMemory::off)) {
    REQUIRE(refusal);
    CHECK(refusal->kind() == ErrorKind::capacity);
    CHECK(
        mentions(*refusal, "FASTGPU_COMM_REQUIRE is 'fabric', but none carries messages to rank"));
  }
  for (const auto& refusal : introduced(SharedMemory::on))
    CHECK_FALSE(refusal);
}

TEST_CASE("a rank that cannot open its fabric tells all others why") {
  auto ranks = sockets_in_process(3, kLong);
  const Wishes unable{.fabric = {.need = fabric::FabricNeed::must, .plugin = "/of/no/machine.so"}};
  const auto outcomes = outcomes_of_ranks(ranks, [&](Connections& rank) {
    introduce(rank, rank.rank == Rank{1} ? unable : Wishes{}, Deadline(kLong));
  });
  CHECK(mentions(failure_in(outcomes[1]), "/of/no/machine.so"));
  for (const std::size_t other : {0UL, 2UL}) {
    const Error told = failure_in(outcomes[other]);
    CHECK(told.kind() == ErrorKind::remote);
    CHECK(mentions(told, "loading the plugin for libfabric"));
    CHECK(mentions(told, "(rank 1 says so)"));
  }
}

TEST_CASE("a rank with another algorithm or library of collectives is named as ranks meet") {
  const auto refusals = [](const Wishes& odd) {
    auto ranks = sockets_in_process(3, kLong);
    std::vector<Error> all;
    const auto outcomes = outcomes_of_ranks(ranks, [&](Connections& rank) {
      introduce(rank, rank.rank == Rank{2} ? odd : Wishes{}, Deadline(kLong));
    });
    for (std::size_t rank = 0; rank < 2; ++rank)
      all.push_back(failure_in(outcomes[rank]));
    return all;
  };
  for (const Error& e : refusals({.algorithm = Algorithm::ring})) {
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "rank 2 has another FASTGPU_COMM_ALGORITHM: all ranks need the same"));
  }
  for (const Error& e : refusals({.collectives = CollectiveLibrary::mpi}))
    CHECK(mentions(e, "rank 2 has another FASTGPU_COMM_COLLECTIVES"));
}

TEST_CASE("ranks meet over TCP and are connected each to each") {
  for (const int size : {1, 2, 3, 8}) {
    const JoinMeeting meeting{.size = size};
    CAPTURE(size);
    CHECK(sums_of(meeting.places()) ==
          std::vector<std::int32_t>(static_cast<std::size_t>(size), size * (size + 1) / 2));
  }
}

/// The soft limit of locked memory of this process after it has joined a job of one rank.
rlim_t lockable_after_join(fabric::FabricNeed need) {
  rlimit before{};
  ::getrlimit(RLIMIT_MEMLOCK, &before);
  const rlimit little{std::min<rlim_t>(before.rlim_max, 65'536), before.rlim_max};
  ::setrlimit(RLIMIT_MEMLOCK, &little);
  JobPlace place;
  place.fabric.need = need;
  join(place);
  rlimit after{};
  ::getrlimit(RLIMIT_MEMLOCK, &after);
  ::setrlimit(RLIMIT_MEMLOCK, &before);
  return after.rlim_cur;
}

TEST_CASE("a rank that may use a fabric locks as much memory as the system allows it") {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  CHECK(lockable_after_join(fabric::FabricNeed::welcome) == limit.rlim_max);
  CHECK(lockable_after_join(fabric::FabricNeed::none) == std::min<rlim_t>(limit.rlim_max, 65'536));
}

TEST_CASE("a rank may have as many descriptors as the system allows it") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{std::min<rlim_t>(before.rlim_max, 256), before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  const auto sums = sums_of(JoinMeeting{}.places());
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(sums == std::vector<std::int32_t>(2, 3));
  CHECK(after.rlim_cur == before.rlim_max);
}

TEST_CASE("a name that is not known yet is asked for again, and in the end named") {
  int asked = 0;
  const auto found = await_name(
      [&] {
        ++asked;
        if (asked == 1) throw Error(ErrorKind::local, "the name server does not answer");
        if (asked == 2) throw Error(ErrorKind::not_found, "the name is unknown");
        return std::vector<Endpoint>{loopback(1)};
      },
      Deadline(kLong));
  CHECK(found == std::vector<Endpoint>{loopback(1)});
  CHECK(asked == 3);
  const auto never = [](ErrorKind kind) {
    return failure_of([&] {
      await_name([&]() -> std::vector<Endpoint> { throw Error(kind, "as ever"); }, Deadline(100ms));
    });
  };
  CHECK(never(ErrorKind::not_found).kind() == ErrorKind::not_found);
  CHECK(never(ErrorKind::usage).kind() == ErrorKind::usage);
}

TEST_CASE("a job whose rank 0 has no address says so on all ranks") {
  JoinMeeting meeting;
  meeting.timeout = kShort;
  auto places = meeting.places();
  for (JobPlace& place : places)
    place.master_host = "a name with blanks";
  for (const Error& e : failures_of(places)) {
    CHECK((e.kind() == ErrorKind::not_found || e.kind() == ErrorKind::local));
    CHECK(mentions(e, "the address of rank 0, 'a name with blanks'"));
  }
}

TEST_CASE("without a secret ranks meet on the loopback interface") {
  const JoinMeeting meeting{.size = 3, .secret = ""};
  CHECK(sums_of(meeting.places()) == std::vector<std::int32_t>(3, 6));
}

TEST_CASE("without a secret an address that others can reach is refused") {
  JoinMeeting meeting{.secret = ""};
  for (auto place : meeting.places()) {
    place.master_host = "192.0.2.1";
    const Error e = failure_of([&] { join(place); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "FASTGPU_COMM_SECRET is not set"));
  }
}

TEST_CASE("ranks meet over the interface that is asked for") {
  auto places = JoinMeeting{.size = 3}.places();
  for (auto& place : places)
    place.interface = "lo";
  CHECK(sums_of(places) == std::vector<std::int32_t>(3, 6));
}

TEST_CASE("an interface that does not have rank 0's address is refused at once") {
  std::vector<Endpoint> own;
  try {
    own = addresses_of_machine("");
  } catch (const Error&) {
    return;  // There is loopback alone.
  }
  if (own.front().family != Family::ipv4) return;
  JobPlace place = JoinMeeting{.timeout = 100s}.place(0);
  place.master_host = to_string(own.front());
  place.master_host.resize(place.master_host.rfind(':'));
  place.interface = "lo";
  const auto begin = std::chrono::steady_clock::now();
  const Error e = failure_of([&] { join(place); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "FASTGPU_COMM_INTERFACE is 'lo'"));
  CHECK(std::chrono::steady_clock::now() - begin < 50s);
}

/// Returns true if this machine has loopback alone, so that the test may give it an address.
bool is_alone() {
  try {
    addresses_of_machine("");
    return false;
  } catch (const Error&) {
    return std::system("ip -6 address replace fe80::77/64 dev lo nodad") == 0;
  }
}

TEST_CASE("ranks meet at a link-local address of the interface that is named") {
  const auto of_lo = resolve("fe80::77%lo", 9);
  CHECK(to_string(of_lo.front()) == "[fe80::77%lo]:9");
  if (!is_alone()) return;
  auto places = JoinMeeting{.size = 3}.places();
  for (auto& place : places)
    place.master_host = "fe80::77%lo";
  CHECK(sums_of(places) == std::vector<std::int32_t>(3, 6));
  for (auto& place : places) {
    place.master_host = "fe80::77";
    place.interface = "lo";
  }
  CHECK(sums_of(places) == std::vector<std::int32_t>(3, 6));
}

TEST_CASE("a link-local address without its interface, or with another one, is refused at once") {
  for (const int rank : {0, 1}) {
    JobPlace place = JoinMeeting{.timeout = 100s}.place(rank);
    place.master_host = "fe80::77";
    const Error none = failure_of([&] { join(place); });
    CHECK(none.kind() == ErrorKind::usage);
    CHECK(mentions(none, "fe80::1%eth0"));
    place.master_host = "fe80::77%777";
    place.interface = "lo";
    const Error other = failure_of([&] { join(place); });
    CHECK(other.kind() == ErrorKind::usage);
    CHECK(mentions(other, "is one of 777, but FASTGPU_COMM_INTERFACE is 'lo'"));
  }
}

TEST_CASE("an interface that does not exist is named") {
  JobPlace place = JoinMeeting{}.place(0);
  place.interface = "nosuch0";
  const Error e = failure_of([&] { join(place); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "'nosuch0'"));
}

TEST_CASE("a rank with another secret is denied, and rank 0 says whom it turned away") {
  auto places = JoinMeeting{.timeout = kShort}.places();
  places[1].secret = Secret("another one");
  const auto failures = failures_of(places);
  CHECK(failures[0].kind() == ErrorKind::timeout);
  CHECK(mentions(failures[0], "these ranks have not come in time: 1"));
  CHECK(mentions(failures[0], "as rank 1: FASTGPU_COMM_SECRET is not the same"));
  CHECK(failures[1].kind() == ErrorKind::denied);
  CHECK(mentions(failures[1], "rank 1: rank 0 at 127.0.0.1"));
  CHECK_FALSE(mentions(failures[1], "another one"));
}

TEST_CASE("a rank without the secret is denied") {
  auto places = JoinMeeting{.timeout = kShort}.places();
  places[1].secret = Secret();
  CHECK(failures_of(places)[1].kind() == ErrorKind::denied);
}

TEST_CASE("ranks that disagree on their number are told so") {
  auto places = JoinMeeting{.timeout = kShort}.places();
  places[1].size = 3;
  const auto failures = failures_of(places);
  CHECK(failures[1].kind() == ErrorKind::usage);
  CHECK(mentions(failures[1], "WORLD_SIZE"));
  CHECK(failures[0].kind() == ErrorKind::usage);
  CHECK(mentions(failures[0], "WORLD_SIZE"));
  CHECK(mentions(failures[0], "came as rank 1"));
}

TEST_CASE("rank 0 does not wait for a job that cannot come together") {
  const auto begin = std::chrono::steady_clock::now();
  const JoinMeeting meeting{.size = 3, .timeout = 100s};
  auto other_size = meeting.place(1);
  other_size.size = 4;
  CHECK(failures_of({meeting.place(0), other_size})[0].kind() == ErrorKind::usage);
  const JoinMeeting twice{.size = 3, .timeout = 100s};
  const auto failures = failures_of({twice.place(0), twice.place(1), twice.place(1)});
  CHECK(failures[0].kind() == ErrorKind::conflict);
  CHECK(std::chrono::steady_clock::now() - begin < 50s);
}

TEST_CASE("a stranger without the secret does not end the meeting by a wrong size") {
  const JoinMeeting meeting{.size = 2};
  std::jthread stranger([&] {
    const UniqueFd socket = connect_stranger(meeting.port);
    const PeerIdentity identity{{1}, 7, Secret("another"), {}};
    try {
      present(socket.get(), identity, loopback(1), Deadline(kLong));
    } catch (const Error&) {
    }
  });
  const std::vector<JobPlace> places{meeting.place(0), meeting.place(1)};
  CHECK_NOTHROW(run_ranks(places, [&](const JobPlace& place) {
    if (place.rank == Rank{1}) {
      while (!stranger.joinable())
        std::this_thread::yield();
      stranger.join();
    }
    join(place);
  }));
}

TEST_CASE("a rank with another version of the library is refused, and both say so") {
  const JoinMeeting meeting{.timeout = kShort};
  const std::vector<JobPlace> host{meeting.place(0)};
  Error visit(ErrorKind::internal, "");
  std::jthread newer([&] {
    const UniqueFd socket = connect_stranger(meeting.port);
    const PeerIdentity identity{
        .rank = {1}, .size = 2, .secret = Secret(meeting.secret), .version = 12345};
    try {
      present(socket.get(), identity, loopback(1), Deadline(kLong));
    } catch (const Error& e) {
      visit = e;
    }
  });
  const Error e = failures_of(host)[0];
  newer.join();
  const std::string own = version_text(kLibraryVersion);
  CHECK(visit.kind() == ErrorKind::usage);
  CHECK(mentions(visit, "libfastgpu_comm " + own + " runs there, and 1.23.45 here"));
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(mentions(e, "as rank 1: libfastgpu_comm 1.23.45 runs there, and " + own + " here"));
}

TEST_CASE("a rank out of range is refused") {
  auto places = JoinMeeting{.timeout = kShort}.places();
  places[1].rank = {7};
  CHECK(mentions(failures_of(places)[1], "out of range"));
}

TEST_CASE("of two processes with the same rank one gets in and the other is told") {
  const JoinMeeting meeting{.size = 3, .timeout = kShort};
  const auto failures = failures_of({meeting.place(0), meeting.place(1), meeting.place(1)});
  CHECK(failures[0].kind() == ErrorKind::conflict);
  CHECK(mentions(failures[0], "came as rank 1, which has come already"));
  const bool first_refused = failures[1].kind() == ErrorKind::conflict;
  CHECK(mentions(failures[first_refused ? 1 : 2], "another process has that rank"));
  CHECK(mentions(failures[first_refused ? 2 : 1], "but not where the others are"));
}

TEST_CASE("a rank that was let in and left again may come again") {
  const JoinMeeting meeting{.size = 3};
  const std::jthread master([&] { join(meeting.place(0)); });
  {
    const UniqueFd first = connect_stranger(meeting.port);
    const PeerIdentity identity{{1}, meeting.size, Secret(meeting.secret), {}};
    present(first.get(), identity, loopback(1), Deadline(kLong));
  }
  const std::vector<JobPlace> rest{meeting.place(1), meeting.place(2)};
  CHECK_NOTHROW(run_ranks(rest, [](const JobPlace& place) { join(place); }));
}

TEST_CASE("ranks that never come are named at the deadline") {
  const JobPlace place = JoinMeeting{.size = 12, .timeout = 50ms}.place(0);
  const Error e = failure_of([&] { join(place); });
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(
      mentions(e, "rank 0: these ranks have not come in time: 1, 2, 3, 4, 5, 6, 7, 8 and 3 more"));
}

TEST_CASE("a rank 0 that never comes is named with its address") {
  const JoinMeeting meeting{.timeout = 50ms};
  const Error e = failure_of([&] { join(meeting.place(1)); });
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(mentions(e, "rank 1: rank 0 at 127.0.0.1:" + std::to_string(meeting.port)));
  CHECK(mentions(e, "Connection refused"));
}

TEST_CASE("a port in use is a conflict") {
  const UniqueFd squatter = listen_at(loopback(0));
  const JoinMeeting meeting{.port = local_end(squatter.get()).port};
  CHECK(failure_of([&] { join(meeting.place(0)); }).kind() == ErrorKind::conflict);
}

TEST_CASE("strangers who send garbage, nothing, or half a message do not disturb the meeting") {
  const JoinMeeting meeting{.size = 2};
  std::int32_t sum = 0;
  {
    const std::jthread master([&] {
      Communicator comm(join(meeting.place(0)));
      sum = 1;
      comm.all_reduce(std::span(&sum, 1), ReduceOp::sum);
    });
    const UniqueFd silent = connect_stranger(meeting.port);
    const UniqueFd talkative = connect_stranger(meeting.port);
    send(talkative, std::string(100'000, 'x'));
    const UniqueFd brief = connect_stranger(meeting.port);
    send(brief, "FGCR");
    connect_stranger(meeting.port);
    reset(connect_stranger(meeting.port));
    Communicator comm(join(meeting.place(1)));
    std::int32_t value = 2;
    comm.all_reduce(std::span(&value, 1), ReduceOp::sum);
    CHECK(value == 3);
  }
  CHECK(sum == 3);
}

TEST_CASE("more strangers than there are seats do not keep a rank out") {
  const JoinMeeting meeting{.size = 2};
  const std::jthread master([&] { join(meeting.place(0)); });
  std::vector<UniqueFd> strangers(600);
  for (UniqueFd& stranger : strangers)
    stranger = connect_stranger(meeting.port);
  CHECK_NOTHROW(join(meeting.place(1)));
}

TEST_CASE("a stranger in rank 0's place is recognised by what it answers") {
  const UniqueFd listener = listen_at(loopback(0));
  const JoinMeeting meeting{.port = local_end(listener.get()).port};
  const std::jthread impostor([&] {
    UniqueFd stranger;
    while (!stranger)
      stranger = UniqueFd(::accept(listener.get(), nullptr, nullptr));
    send(stranger, "HTTP/1.1 400 Bad Request\r\n\r\n");
    Message<kHelloBytes> hello;
    receive_all(stranger.get(), hello, Deadline(kLong));
  });
  const Error e = failure_of([&] { join(meeting.place(1)); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "no rank of a fastgpu job"));
}

TEST_CASE("a stranger who speaks the protocol but lacks the secret is no rank 0") {
  const UniqueFd listener = listen_at(loopback(0));
  const JoinMeeting meeting{.port = local_end(listener.get()).port};
  const std::jthread impostor([&] {
    UniqueFd stranger;
    while (!stranger)
      stranger = UniqueFd(::accept(listener.get(), nullptr, nullptr));
    const PeerIdentity identity{.rank = {0}, .size = 2, .secret = Secret("guessed"), .session = {}};
    ServerHandshake reception(identity);
    Message<kHelloBytes> hello;
    receive_all(stranger.get(), hello, Deadline(kLong));
    send_all(stranger.get(), *reception.challenge(hello), Deadline(kLong));
    Message<kAnswerBytes> answer;
    receive_all(stranger.get(), answer, Deadline(kLong));
    reception.judge(answer);
    send_all(stranger.get(), reception.verdict(Refusal::none, {}), Deadline(kLong));
  });
  const Error e = failure_of([&] { join(meeting.place(1)); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(mentions(e, "does not know FASTGPU_COMM_SECRET"));
}

TEST_CASE("a listener that never answers is given up at the deadline") {
  const UniqueFd silent = listen_at(loopback(0));
  const JoinMeeting meeting{.timeout = 50ms, .port = local_end(silent.get()).port};
  const Error e = failure_of([&] { join(meeting.place(1)); });
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(mentions(e, "no answer in time"));
}

TEST_CASE("a rank that leaves after the meeting is named by those who wait for it") {
  const auto places = JoinMeeting{.size = 3}.places();
  const auto outcomes = outcomes_of_ranks(places, [](const JobPlace& place) {
    Communicator comm(join(place));
    if (place.rank != Rank{2}) comm.barrier();
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank 2"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
