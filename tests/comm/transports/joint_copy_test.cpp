// Long messages that their sender and their receiver copy together.
#include "comm/transports/joint_copy.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/transports/message_reader.hpp"
#include "comm/transports/peer_memory.hpp"
#include "comm/transports/shared_peer.hpp"
#include "support/child.hpp"
#include "support/failure.hpp"
#include "support/own_memory.hpp"
#include "support/taken_from.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kLongMessage = 3 << 20;

/// One rank of two in this process: it can read the other's memory by the kernel.
struct JoiningSide {
  std::vector<RegionRow> table{kMostRegions};
  SharedHeap heap{table};
  test::TransportReports reports;
  UnaskedBytes unasked;
  StagedMessages staged{{}, reports};
  SharedPeer peer;

  JoiningSide(Rank other, Mailbox& out, Mailbox& in, PeerMemory memory)
      : peer(other,
             {.out = out,
              .in = in,
              .staged = staged,
              .staged_by_peer = {},
              .heap = heap,
              .heap_of_peer = PeerHeap(::getpid(), table),
              .memory_of_peer = memory},
             reports, unasked, BarrierMaker::each) {}
};

/// A message that is under way from rank 0 to rank 1.
struct JointMessage {
  std::unique_ptr<Mailbox> there = std::make_unique<Mailbox>();
  std::unique_ptr<Mailbox> back = std::make_unique<Mailbox>();
  JoiningSide sender;
  JoiningSide receiver;
  std::vector<std::byte> from;
  std::vector<std::byte> into;
  Outgoing outgoing;
  Incoming incoming;

  explicit JointMessage(std::size_t bytes, PeerMemory of_sender = test::own_memory())
      : sender(Rank{1}, *there, *back, of_sender),
        receiver(Rank{0}, *back, *there, test::own_memory()),
        from(bytes),
        into(bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      from[i] = static_cast<std::byte>(i * 7 + i / 4096);
    outgoing = {.tag = {1}, .bytes = from};
    incoming = {.tag = {1}, .sink = {into}};
    receiver.peer.receive(incoming);
    sender.peer.send(outgoing);
  }
  bool is_received() const { return receiver.reports.received_messages == 1; }
};

/// Returns the answer to the message that was put with this number.
Descriptor ack_of(std::uint32_t request) {
  Descriptor descriptor{.kind = DescriptorKind::ack};
  descriptor.set({.request = request});
  return descriptor;
}

TEST_SUITE_BEGIN("comm/joint_copy");

TEST_CASE("the pieces of a message are all of it, once") {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{64 << 10}, std::size_t{(512 << 10) - 1}, std::size_t{512 << 10},
        std::size_t{(512 << 10) + 1}, std::size_t{100'000'003}}) {
    CAPTURE(bytes);
    CHECK(copy_pieces(bytes) >= (bytes > 4096 ? 2U : 1U));
    std::size_t end = 0;
    for (std::uint32_t i = 0; i < copy_pieces(bytes); ++i) {
      const CopyPiece piece = copy_piece(bytes, i);
      CHECK(piece.begin == end);
      CHECK(piece.size > 0);
      end += piece.size;
    }
    CHECK(end == bytes);
  }
}

TEST_CASE("each piece is claimed by one side, and none of a copy that has ended") {
  auto joint = std::make_unique<JointCopy>();
  joint->begin(5);
  std::set<std::uint32_t> claimed;
  std::thread other([&, mine = std::set<std::uint32_t>()]() mutable {
    while (const auto piece = joint->claim(5, 1000))
      mine.insert(*piece);
    for (std::size_t i = 0; i < mine.size(); ++i)
      joint->release();
  });
  while (const auto piece = joint->claim(5, 1000))
    claimed.insert(*piece);
  other.join();
  CHECK(claimed.size() + joint->released() == 1000);
  CHECK_FALSE(joint->claim(5, 1000));
  CHECK_FALSE(joint->claim(4, 1000));
  joint->begin(6);
  CHECK_FALSE(joint->claim(5, 1000));
  CHECK(joint->claim(6, 1000) == 0);
  CHECK(joint->claim(6, 1000) == 1);
  CHECK(joint->close(6) == 2);
  CHECK_FALSE(joint->claim(6, 1000));
}

TEST_CASE("what the sender has copied is there once it has released its pieces, copy after copy") {
  constexpr std::size_t kBytes = 5 << 20;
  auto joint = std::make_unique<JointCopy>();
  std::vector<std::byte> from(kBytes);
  std::vector<std::byte> into(kBytes);
  const auto copy = [&](std::uint32_t piece) {
    const CopyPiece part = copy_piece(kBytes, piece);
    std::memcpy(into.data() + part.begin, from.data() + part.begin, part.size);
  };
  for (std::uint32_t number = 1; number <= 20; ++number) {
    std::ranges::fill(from, static_cast<std::byte>(number));
    joint->begin(number);
    std::thread sender([&] {
      bool gives_back = number % 2 == 0;  // One piece, which it could not write.
      while (const auto piece = joint->claim(number, copy_pieces(kBytes))) {
        if (std::exchange(gives_back, false)) {
          joint->give_back(*piece);
        } else {
          copy(*piece);
          joint->release();
        }
      }
    });
    std::uint32_t own = 0;
    for (; const auto piece = joint->claim(number, copy_pieces(kBytes)); ++own)
      copy(*piece);
    while (own + joint->released() < copy_pieces(kBytes))
      std::this_thread::yield();
    if (const auto piece = joint->take_returned()) copy(*piece);
    CHECK(into == from);
    sender.join();
  }
}

TEST_CASE("a long message is copied by both sides, a piece each in turn") {
  JointMessage pair(kLongMessage);
  pair.receiver.peer.progress();  // It invites, and copies the first piece.
  const std::size_t after_first = pair.incoming.moved;
  CHECK(after_first > 0);
  while (pair.sender.peer.progress()) {
  }
  CHECK(pair.incoming.moved == after_first);
  CHECK_FALSE(pair.is_received());
  pair.receiver.peer.progress();
  CHECK(pair.is_received());
  CHECK(pair.into == pair.from);
  CHECK_FALSE(pair.sender.peer.is_busy());
  pair.sender.peer.progress();
  CHECK(pair.sender.reports.sent_messages == 1);
}

TEST_CASE("a sender that does something else leaves all of a long message to the receiver") {
  JointMessage pair(kLongMessage);
  while (pair.receiver.peer.progress()) {
  }
  CHECK(pair.is_received());
  CHECK(pair.into == pair.from);
  while (pair.sender.peer.progress()) {
  }
  CHECK(pair.sender.reports.sent_messages == 1);
  CHECK_FALSE(pair.sender.peer.is_busy());
}

TEST_CASE("a piece that the sender may not write is copied by the receiver") {
  JointMessage pair(kLongMessage, PeerMemory());
  pair.receiver.peer.progress();
  while (pair.sender.peer.progress()) {
  }
  while (pair.receiver.peer.progress()) {
  }
  CHECK(pair.is_received());
  CHECK(pair.into == pair.from);
}

TEST_CASE("messages of many lengths are whole when both sides copy at the same time") {
  for (std::size_t bytes = 500'000; bytes < 40'000'000; bytes = bytes * 3 / 2 + 1) {
    CAPTURE(bytes);
    JointMessage pair(bytes);
    std::thread sending([&] {
      while (pair.sender.reports.sent_messages == 0)
        pair.sender.peer.progress();
    });
    while (!pair.is_received())
      pair.receiver.peer.progress();
    sending.join();
    CHECK(pair.into == pair.from);
  }
}

TEST_CASE("a receiver that gives up lets no piece be written afterwards") {
  JointMessage pair(kLongMessage);
  pair.receiver.peer.progress();
  pair.receiver.peer.abandon();
  const auto before = pair.into;
  while (pair.sender.peer.progress()) {
  }
  CHECK(pair.into == before);
}

TEST_CASE("a receiver that gives up waits for a piece that its sender is writing") {
  JointMessage pair(kLongMessage);
  pair.receiver.peer.progress();
  JointCopy& joint = pair.there->joint_copy();
  REQUIRE(joint.claim(1, copy_pieces(kLongMessage)));
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    joint.release();
  });
  pair.receiver.peer.abandon();
  CHECK(joint.released() == 1);
  writer.join();
}

TEST_CASE("a receiver that gives up does not wait for a sender that is stopped") {
  const std::vector<std::byte> known(16, std::byte{7});
  const test::Child stopped([] { return ::raise(SIGSTOP); });
  REQUIRE(::waitpid(stopped.pid(), nullptr, WUNTRACED) == stopped.pid());
  const PeerMemory memory(stopped.pid(), test::address_of(known.data()), known);
  REQUIRE(memory.is_readable());
  const auto joint = std::make_unique<JointCopy>();
  SharedStores stores;
  std::vector<std::byte> here(kLongMessage);
  Incoming message{.tag = {1}, .sink = {here}};
  MessageReader reader(memory, *joint, stores);
  reader.add(message, test::address_of(here.data()), 5);
  const auto invited = reader.invite(false);
  REQUIRE(invited);
  REQUIRE(joint->claim(invited->copy, copy_pieces(kLongMessage)));
  const auto began = std::chrono::steady_clock::now();
  reader.forget();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3));
}

TEST_CASE("the sender of an answer is asked to copy shorter messages, too") {
  constexpr std::size_t kShort = 64 << 10;
  for (const auto& [bytes, is_answer, is_asked] :
       {std::tuple{kShort, true, true}, std::tuple{kShort, false, false},
        std::tuple{kShort - 1, true, false}, std::tuple{2 * kShort, false, true},
        std::tuple{2 * kShort - 1, false, false}}) {
    JointCopy joint{};
    SharedStores stores;
    const std::vector<std::byte> there(bytes, std::byte{5});
    std::vector<std::byte> here(bytes);
    Incoming message{.tag = {1}, .sink = {here}};
    MessageReader reader(test::own_memory(), joint, stores);
    reader.add(message, test::address_of(there.data()), 5);
    CHECK(reader.invite(is_answer).has_value() == is_asked);
    while (reader.read().done == nullptr) {
    }
    CHECK(here == there);
  }
}

TEST_CASE("a message is an answer if this rank has sent one since the last one came") {
  JointMessage pair(64 << 10);
  SharedPeer& receiver = pair.receiver.peer;
  const auto next_put = [&] { return test::taken_from(*pair.back)->kind; };
  receiver.progress();
  CHECK(next_put() == DescriptorKind::ack);
  Outgoing question{.tag = {2}, .bytes = pair.into};
  receiver.send(question);
  CHECK(next_put() == DescriptorKind::announce);
  pair.there->put(ack_of(0), BarrierMaker::each);  // The question has been read.
  Outgoing answer{.tag = {3}, .bytes = pair.from};
  pair.sender.peer.send(answer);
  Incoming awaited{.tag = {3}, .sink = {pair.into}};
  receiver.receive(awaited);
  receiver.progress();
  CHECK(next_put() == DescriptorKind::join);
}

TEST_CASE("a sender whose end could not be seen is not asked to copy") {
  JointCopy joint{};
  SharedStores stores;
  const std::vector<std::byte> there(std::size_t{8} << 20, std::byte{5});
  std::vector<std::byte> here(there.size());
  for (const bool is_seen : {true, false}) {
    Incoming message{.tag = {1}, .sink = {here}};
    MessageReader reader(is_seen ? test::own_memory() : PeerMemory(), joint, stores);
    reader.add(message, there, 5);
    CHECK(reader.invite(false).has_value() == is_seen);
    while (reader.read().done == nullptr) {
    }
    CHECK(here == there);
    std::ranges::fill(here, std::byte{0});
  }
}

TEST_CASE("an invitation to copy a message that was not sent is refused") {
  JointMessage pair(100);
  Descriptor descriptor{.kind = DescriptorKind::join};
  descriptor.set({.request = 77});
  pair.back->put(descriptor, BarrierMaker::each);
  const Error e = test::failure_of([&] { pair.sender.peer.progress(); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()) == "it takes a message that was not offered");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
