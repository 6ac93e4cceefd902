// The transport through MPI, with a stand-in for MPI in which ranks are threads.
#include "comm/transports/mpi_transport.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/messages_in_process.hpp"
#include "support/run_ranks.hpp"
#include "support/transport_checks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::able_to_leave;
using test::failure_in;
using test::failure_of;
using test::mentions;
using test::numbers;
using test::outcomes_of_ranks;
using test::PostOffice;
using test::run_ranks;
using Reports = test::TransportReports;

constexpr int kMostTestedRanks = 6;
/// About what goes within an envelope, and about the pieces of what does not.
constexpr std::size_t kLengths[] = {0, 1, 513, 1010, 1012, 70'001, 1'000'003};

std::vector<Communicator> communicators_by_mpi(int size, std::chrono::milliseconds timeout,
                                               SharedMemory shared_memory = SharedMemory::off) {
  auto office = std::make_shared<PostOffice>();
  auto connections = test::sockets_in_process(size, timeout);
  run_ranks(connections, [&](Connections& rank) {
    introduce(rank, {shared_memory, 1, NetworkTransport::mpi}, Deadline(20s));
    rank.messages = office->messages_of(rank.rank);
  });
  std::vector<Communicator> ranks;
  for (auto& rank : connections)
    ranks.emplace_back(std::move(rank));
  return ranks;
}

/// Rank 1 of two, whose messages from rank 0 the test writes itself.
struct Victim {
  std::shared_ptr<PostOffice> office = std::make_shared<PostOffice>();
  Reports reports;
  MpiTransport transport{office->messages_of({1}), 2, reports};
  std::unique_ptr<mpi::MpiMessages> impostor = office->messages_of({0});

  void send(const Envelope& envelope) {
    std::vector<std::byte> bytes(kEnvelopeBytes);
    bytes.resize(encode(envelope, bytes));
    send(bytes);
  }
  void send(std::span<const std::byte> bytes) {
    const auto transfer = impostor->send(bytes, {1}, 0);
    for (int i = 0; i < 10; ++i)
      transport.progress();
  }
  Error failure() const { return reports.failure.value(); }
};

TEST_SUITE_BEGIN("comm/mpi_transport");

TEST_CASE("an envelope is opened as it was closed") {
  const std::array inside{std::byte{7}, std::byte{8}};
  std::vector<std::byte> bytes(kEnvelopeBytes);
  for (const auto& note : {std::optional<Note>(), std::optional<Note>(Note{std::byte{1}})}) {
    for (const std::uint32_t number : {0U, 1023U}) {
      Envelope envelope{.tag = {~std::uint64_t{5}}, .bytes = 2, .number = number, .note = note};
      if (number == 0) envelope.inside = inside;
      const std::size_t length = encode(envelope, bytes);
      const Envelope read = decode_envelope(std::span(bytes).first(length));
      CHECK(read.tag == envelope.tag);
      CHECK(read.bytes == 2);
      CHECK(read.number == number);
      CHECK(read.note == note);
      CHECK(read.inside.size() == envelope.inside.size());
      CHECK(failure_of([&] { decode_envelope(std::span(bytes).first(length - 1)); }).kind() ==
            ErrorKind::remote);
    }
  }
}

TEST_CASE("an all-reduce by MPI has the sums of all, at any length and number of ranks") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
      auto ranks = communicators_by_mpi(size, 20s, shared_memory);
      for (const std::size_t length : kLengths)
        test::check_sums(ranks, length);
    }
  }
}

TEST_CASE("copies by MPI arrive whole, whichever side asks first") {
  auto ranks = communicators_by_mpi(4, 20s);
  for (const std::size_t length : kLengths)
    test::check_copies(ranks, length);
}

TEST_CASE("gradients are exchanged by MPI") {
  auto ranks = communicators_by_mpi(3, 20s);
  test::check_gradients(ranks);
}

TEST_CASE("a rank that goes on with its own work does not hold up what it has sent") {
  auto ranks = communicators_by_mpi(2, 5s);
  int number = 0;
  run_ranks(ranks, [&](Communicator& comm) {
    const int mine = 42;
    if (comm.rank() == Rank{0}) {
      comm.send(std::as_bytes(std::span(&mine, 1)), {1});
      std::this_thread::sleep_for(300ms);
    } else {
      comm.receive(std::as_writable_bytes(std::span(&number, 1)), {0});
    }
  });
  CHECK(number == 42);
}

TEST_CASE("more long messages than MPI has numbers are sent one after the other") {
  constexpr std::size_t kMessages = mpi::kHighestNumber + 3;
  const auto office = std::make_shared<PostOffice>();
  Reports near;
  Reports far;
  MpiTransport sender(office->messages_of({0}), 2, near);
  MpiTransport receiver(office->messages_of({1}), 2, far);
  const std::vector<std::byte> bytes(kInsideBytes + 1, std::byte{9});
  std::vector<std::byte> into(bytes.size());
  std::vector<Outgoing> sent(kMessages);
  std::vector<Incoming> wanted(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    sent[i] = {.peer = {1}, .tag = {i}, .bytes = bytes};
    wanted[i] = {.peer = {0}, .tag = {i}, .sink = {.memory = into}};
    sender.send(sent[i]);
  }
  for (Incoming& message : wanted) {
    receiver.receive(message);
    for (int i = 0; i < 4; ++i) {
      receiver.progress();
      if (i == 3) sender.progress();
    }
  }
  while (near.sent_messages < static_cast<int>(kMessages)) {
    sender.progress();
    receiver.progress();
  }
  CHECK(far.received_messages == static_cast<int>(kMessages));
  CHECK(into == bytes);
}

TEST_CASE("what a rank has sent by MPI may be asked for after it has gone") {
  test::check_message_outlives_sender(able_to_leave(communicators_by_mpi(2, 5s)));
}

TEST_CASE("a message by MPI that needs not arrive breaks nothing, whenever its receiver goes") {
  auto own = able_to_leave(communicators_by_mpi(3, 60s));
  std::vector<float> sums(own.size());
  CHECK_NOTHROW(run_ranks(own, [&](std::optional<Communicator>& comm) {
    const Rank rank = comm->rank();
    auto pair = comm->split(rank == Rank{1} ? -1 : 0, 0);
    if (rank == Rank{1}) return comm.reset();
    {
      const std::vector<std::byte> small(9), large(1'000'000);
      std::vector<Handle> handles;
      handles.push_back(comm->start_send(large, {1}, ElementType::uint8, IfGone::is_ignored));
      handles.push_back(comm->start_send(small, {1}, ElementType::uint8, IfGone::is_ignored));
      for (Handle& handle : handles)
        handle.wait();
    }
    float& sum = sums[static_cast<std::size_t>(rank.value)];
    sum = 1;
    pair->all_reduce(std::span(&sum, 1), ReduceOp::sum);
  }));
  CHECK(sums == std::vector{2.0F, 0.0F, 2.0F});
}

TEST_CASE("a rank that goes while others wait for it by MPI is named by them") {
  test::check_leaver_is_named(able_to_leave(communicators_by_mpi(3, 5s)));
}

TEST_CASE("a rank that is silent by MPI is named at the deadline") {
  auto ranks = communicators_by_mpi(3, 300ms);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(100'000);
    comm.all_reduce(std::span(values), ReduceOp::sum);
    if (comm.rank() == Rank{2}) std::this_thread::sleep_for(1s);
    if (comm.rank() != Rank{2}) comm.all_reduce(std::span(values), ReduceOp::sum);
  });
  for (const std::size_t r : {0, 1}) {
    CHECK(mentions(failure_in(outcomes[r]), "rank 2 "));
    CHECK(mentions(failure_in(outcomes[r]), " nothing for 300ms"));
  }
}

TEST_CASE("ranks in different calls are told so by MPI's notes") {
  auto ranks = communicators_by_mpi(2, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(comm.rank() == Rank{0} ? 100'000 : 200'000);
    comm.all_reduce(std::span(values), ReduceOp::sum);
  });
  for (const auto& outcome : outcomes)
    CHECK(failure_in(outcome).kind() == ErrorKind::usage);
}

TEST_CASE("an envelope that makes no sense ends the connection with its sender") {
  std::vector<std::byte> noise(100, std::byte{0xff});
  Victim victim;
  victim.send(noise);
  CHECK(victim.failure().kind() == ErrorKind::remote);
  CHECK(mentions(victim.failure(), "it sent what no rank of this version sends"));
}

TEST_CASE("a message by MPI of another length than expected is refused") {
  for (const std::uint32_t number : {0U, 1U}) {
    Victim victim;
    std::vector<std::byte> memory(10);
    Incoming wanted{.peer = {0}, .tag = {5}, .sink = {.memory = memory}};
    victim.transport.receive(wanted);
    victim.send(Envelope{.tag = {5}, .bytes = number == 0 ? 0U : 20'000U, .number = number});
    CHECK(mentions(victim.failure(), "bytes where 10 were expected"));
    CHECK(victim.reports.received_messages == 0);
  }
}

TEST_CASE("a message by MPI of another type or count is refused by name") {
  test::check_messages_are_compared([] { return communicators_by_mpi(2, 5s); });
}

TEST_CASE("two messages by MPI where there is one are refused") {
  Victim victim;
  victim.send(Envelope{.tag = {5}});
  victim.send(Envelope{.tag = {5}});
  CHECK(mentions(victim.failure(), "it sent two messages where there is one"));
}

TEST_CASE("a rank with another transport is told so") {
  auto connections = test::sockets_in_process(2, 5s);
  const auto outcomes = outcomes_of_ranks(connections, [](Connections& rank) {
    const auto transport = rank.rank == Rank{0} ? NetworkTransport::tcp : NetworkTransport::mpi;
    introduce(rank, {SharedMemory::off, 1, transport}, Deadline(5s));
  });
  for (const auto& outcome : outcomes) {
    CHECK(failure_in(outcome).kind() == ErrorKind::usage);
    CHECK(mentions(failure_in(outcome), "has another FASTGPU_COMM_TRANSPORT"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
