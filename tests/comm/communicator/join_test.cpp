#include "comm/communicator/join.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/communicator/join_meeting.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/meeting_points.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::failure_in;
using test::failure_of;
using test::failures_of;
using test::JoinMeeting;
using test::kLong;
using test::kShort;
using test::loopback;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::sockets_in_process;

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

TEST_CASE("ranks agree that they are parts of one machine if no connection of any leaves it") {
  enum class Leaving : bool { none, between_1_and_2 };
  const auto is_one_machine = [](SharedMemory shared_memory, Leaving leaving) {
    auto ranks = sockets_in_process(3, kLong);
    for (const auto& [one, other] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
      // A socket of another kind than TCP's counts as one that leaves the machine.
      if (leaving == Leaving::between_1_and_2 && one == 1) continue;
      auto [near, far] = test::tcp_pair();
      ranks[std::size_t(one)].sockets[std::size_t(other)].front() = std::move(near);
      ranks[std::size_t(other)].sockets[std::size_t(one)].front() = std::move(far);
    }
    run_ranks(ranks, [&](Connections& rank) {
      introduce(rank, {.shared_memory = shared_memory}, Deadline(kLong));
    });
    const bool is_one = ranks.front().topology.is_one_machine;
    for (const Connections& rank : ranks)
      CHECK(rank.topology.is_one_machine == is_one);
    return is_one;
  };
  CHECK(is_one_machine(SharedMemory::off, Leaving::none));
  CHECK(!is_one_machine(SharedMemory::off, Leaving::between_1_and_2));
  CHECK(!is_one_machine(SharedMemory::on, Leaving::none));
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
      const Wishes wishes{.shared_memory = shared_memory,
                          .fabric = {.need = fabric::FabricNeed::welcome,
                                     .plugin = "/of/no/machine.so",
                                     .is_required = true}};
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
    CHECK(mentions(*refusal,
                   "FASTGPU_COMM_REQUIRE is 'fabric', but no fabric carries messages to rank"));
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
    CHECK(mentions(told, "rank 1: "));
    CHECK_FALSE(mentions(told, "says so"));
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
  for (const LocalAddress& each : all_addresses_of_machine()) {
    const Endpoint& own = each.address;
    if (own.is_loopback() || own.is_link_local()) continue;
    CAPTURE(address_text(own));
    JobPlace place = JoinMeeting{.timeout = 10s}.place(0);
    place.master_host = address_text(own);
    place.interface = "lo";
    const auto begin = std::chrono::steady_clock::now();
    const Error e = failure_of([&] { join(place); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "FASTGPU_COMM_INTERFACE names 'lo'"));
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
  }
}

TEST_CASE("an address of IPv6 has brackets where a port follows") {
  CHECK(host_and_port("fd01::1", 29500) == "[fd01::1]:29500");
  CHECK(host_and_port("10.0.0.1", 29500) == "10.0.0.1:29500");
  JobPlace place = JoinMeeting{.timeout = kShort}.place(1);
  place.master_host = "::1";
  const Error e = failure_of([&] { join(place); });
  CHECK(mentions(e, "rank 0 at [::1]:" + std::to_string(place.master_port)));
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
    CHECK(mentions(other, "is one of 777, but FASTGPU_COMM_INTERFACE names 'lo'"));
  }
}

TEST_CASE("an interface that does not exist is named") {
  JobPlace place = JoinMeeting{}.place(0);
  place.interface = "nosuch0";
  const Error e = failure_of([&] { join(place); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "'nosuch0'"));
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
