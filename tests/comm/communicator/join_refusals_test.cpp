// Ranks and strangers that are refused as ranks meet, and those that never come.
#include "comm/communicator/join.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/communicator/join_meeting.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/rendezvous/introduction.hpp"
#include "comm/rendezvous/meeting_points.hpp"
#include "comm/rendezvous/stream.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::failures_of;
using test::JoinMeeting;
using test::kLong;
using test::kShort;
using test::loopback;
using test::mentions;
using test::run_ranks;

/// Connects as a stranger, a program without a rank, as soon as rank 0 listens.
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

TEST_SUITE_BEGIN("comm/rendezvous");

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

TEST_CASE("the error of a port in use has the remedy of the variable that it came from") {
  const UniqueFd squatter = listen_at(loopback(0));
  const JoinMeeting meeting{.port = local_end(squatter.get()).port};
  const auto refusal = [&](PortSource source) {
    JobPlace place = meeting.place(0);
    place.port_source = source;
    return failure_of([&] { join(place); });
  };
  using enum PortSource;
  for (const PortSource source : {ours, master_port, beside_torchrun})
    CHECK(mentions(refusal(source), "set FASTGPU_COMM_MASTER_PORT to a free port for all ranks"));
  CHECK_FALSE(mentions(refusal(ours), "torch"));
  CHECK(mentions(refusal(master_port), "torch.distributed and other libraries listen at"));
  CHECK(mentions(refusal(beside_torchrun), "it is 1000 from MASTER_PORT, at which torchrun"));
}

TEST_CASE("a rank that requires a fabric where there is none gives its reason to the others") {
  for (const int demanding : {0, 2}) {
    auto places = JoinMeeting{.size = 3}.places();
    for (JobPlace& place : places)
      place.shared_memory = SharedMemory::off;
    places[static_cast<std::size_t>(demanding)].fabric.is_required = true;
    const auto failures = failures_of(places);
    for (std::size_t r = 0; r < failures.size(); ++r) {
      CAPTURE(r);
      CHECK(mentions(failures[r], "rank " + std::to_string(demanding) +
                                      ": FASTGPU_COMM_REQUIRE is 'fabric', but no fabric carries "
                                      "messages to rank "));
      const bool is_own = static_cast<int>(r) == demanding;
      CHECK(failures[r].kind() == (is_own ? ErrorKind::capacity : ErrorKind::remote));
      CHECK_FALSE(mentions(failures[r], "says so"));  // The sentence names the rank.
    }
  }
}

TEST_CASE("ranks that all require a fabric have their own reasons") {
  auto places = JoinMeeting{.size = 2}.places();
  for (JobPlace& place : places) {
    place.shared_memory = SharedMemory::off;
    place.fabric.is_required = true;
  }
  for (const Error& e : failures_of(places)) {
    CHECK(e.kind() == ErrorKind::capacity);
    CHECK_FALSE(mentions(e, "says so"));
  }
}

TEST_CASE("a rank that cannot go on once it has met the others gives them its reason") {
  auto ranks = test::sockets_in_process(3, kLong);
  const auto outcomes = test::outcomes_of_ranks(ranks, [](Connections& connections) {
    const Deadline deadline(kLong);
    or_take_leave(connections, deadline, [&] {
      if (connections.rank == Rank{1}) throw Error(ErrorKind::usage, "rank 1: eth7 is missing");
    });
    introduce(connections, {}, deadline);
  });
  CHECK(test::failure_in(outcomes[1]).kind() == ErrorKind::usage);
  for (const std::size_t r : {0, 2}) {
    CHECK(test::failure_in(outcomes[r]).kind() == ErrorKind::remote);
    CHECK(mentions(test::failure_in(outcomes[r]), "rank 1: eth7 is missing"));
    CHECK_FALSE(mentions(test::failure_in(outcomes[r]), "says so"));
  }
}

/// Meets rank 0 as a rank that listens at `listens_at`, and hears where the others are.
UniqueFd meet_rank_0(const JoinMeeting& meeting, Rank rank, const Endpoint& listens_at) {
  UniqueFd socket = connect_stranger(meeting.port);
  const PeerIdentity identity{rank, meeting.size, Secret(meeting.secret), {}};
  present(socket.get(), identity, listens_at, Deadline(kLong));
  std::vector<std::byte> table(static_cast<std::size_t>(meeting.size - 1) * kEndpointBytes);
  receive_all(socket.get(), table, Deadline(kLong));
  return socket;
}

TEST_CASE("a rank that cannot reach another says so to rank 0, which says so to all, at once") {
  const auto begin = std::chrono::steady_clock::now();
  const JoinMeeting meeting{.size = 3};
  Endpoint closed = loopback(0);
  closed.port = local_end(listen_at(closed).get()).port;  // It is closed again.
  std::string heard;
  std::jthread unreachable([&] {
    const UniqueFd socket = meet_rank_0(meeting, {1}, closed);
    Introduction introduction;
    receive_all(socket.get(), introduction, Deadline(kLong));
    try {
      receive_all(socket.get(), introduction, Deadline(kLong));
      throw_if_farewell(introduction, {0});
    } catch (const Error& e) {
      heard = e.what();
    }
  });
  const auto failures = failures_of({meeting.place(0), meeting.place(2)});
  unreachable.join();
  const std::string sentence = "rank 2: rank 1 at 127.0.0.1:" + std::to_string(closed.port) +
                               " cannot be reached from 127.0.0.1: Connection refused";
  for (const Error& e : failures) {
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, sentence));
    CHECK_FALSE(mentions(e, "says so"));
  }
  CHECK(heard.find(sentence) == 0);
  CHECK(std::chrono::steady_clock::now() - begin < 15s);
}

TEST_CASE("a rank that waits for another to come hears from rank 0 why it does not") {
  const auto begin = std::chrono::steady_clock::now();
  const JoinMeeting meeting{.size = 3};
  std::jthread failing([&] {
    const UniqueFd socket = meet_rank_0(meeting, {2}, loopback(1));
    const Error reason(ErrorKind::remote, "rank 2: rank 1 at 10.0.0.2:77 cannot be reached");
    send_all(socket.get(), farewell_of(reason, {2}), Deadline(kLong));
    ::shutdown(socket.get(), SHUT_WR);
    Introduction rest;
    CHECK_NOTHROW(receive_all(socket.get(), rest, Deadline(kLong)));
  });
  for (const Error& e : failures_of({meeting.place(0), meeting.place(1)})) {
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "rank 2: rank 1 at 10.0.0.2:77 cannot be reached"));
  }
  CHECK(std::chrono::steady_clock::now() - begin < 15s);
}

TEST_CASE("a rank that dies as ranks introduce themselves has gone: no timeout has passed") {
  const JoinMeeting meeting{.size = 2};
  std::jthread dying([&] {
    const UniqueFd socket = connect_stranger(meeting.port);
    const PeerIdentity identity{{1}, meeting.size, Secret(meeting.secret), {}};
    present(socket.get(), identity, loopback(1), Deadline(kLong));
    Message<kEndpointBytes> table;
    receive_all(socket.get(), table, Deadline(kLong));
  });
  const Error e = failure_of([&] { join(meeting.place(0)); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "rank 0 meeting rank 1: it has gone"));
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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
