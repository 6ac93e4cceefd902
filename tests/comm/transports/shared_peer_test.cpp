// A rank of this host that writes what it likes into the memory that it shares.
#include "comm/transports/shared_peer.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/failure.hpp"
#include "support/taken_from.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kStagedUnits = 4;

/// One rank's side of a pair, and both mailboxes for a test that plays the other.
struct PeerPair {
  std::unique_ptr<Mailbox> out = std::make_unique<Mailbox>();
  std::unique_ptr<Mailbox> in = std::make_unique<Mailbox>();
  std::vector<RegionRow> table{kMostRegions};
  std::vector<RegionRow> own_table{kMostRegions};
  SharedHeap heap{table};  ///< Of the other.
  SharedHeap own_heap{own_table};
  test::TransportReports reports;
  UnaskedBytes unasked;
  std::vector<std::byte> copies = std::vector<std::byte>(kStagedUnits * StagedMessages::kUnit);
  std::vector<std::byte> copies_of_other = copies;
  StagedMessages staged{copies, reports};
  SharedPeer peer{Rank{1},
                  {.out = *out,
                   .in = *in,
                   .staged = staged,
                   .staged_by_peer = copies_of_other,
                   .heap = own_heap,
                   .heap_of_peer = PeerHeap(::getpid(), table)},
                  reports,
                  unasked,
                  BarrierMaker::each};

  void put(DescriptorKind kind, std::uint64_t tag, const Descriptor::Terms& terms) const {
    Descriptor descriptor{.kind = kind, .tag = {tag}};
    descriptor.set(terms);
    in->put(descriptor, BarrierMaker::each);
  }
  void progress() {
    while (peer.progress()) {
    }
  }
  std::string refusal() {
    const Error e = test::failure_of([&] { progress(); });
    CHECK(e.kind() == ErrorKind::remote);
    return e.what();
  }
};

/// Returns the descriptor of bytes that are in the ring of bytes.
Descriptor eager(std::uint64_t tag, std::size_t bytes) {
  return {.kind = DescriptorKind::eager, .length = static_cast<std::uint16_t>(bytes), .tag = {tag}};
}

TEST_SUITE_BEGIN("comm/shared_peer");

TEST_CASE("descriptors that make no sense are refused") {
  const auto refusal = [](DescriptorKind kind, const Descriptor::Terms& terms) {
    PeerPair pair;
    pair.put(kind, 0, terms);
    return pair.refusal();
  };
  CHECK(refusal(DescriptorKind(99), {}) == "it sent a descriptor of a kind that does not exist");
  CHECK(refusal(DescriptorKind::wanted, {.request = 3}) ==
        "it wants a message that was not offered");
  CHECK(refusal(DescriptorKind::ack, {.request = 3}) == "it took a message that was not offered");
  CHECK(refusal(DescriptorKind::join, {.request = 3}) == "it takes a message that was not offered");
  CHECK(refusal(DescriptorKind::piece, {.bytes = 8, .number = 3}) ==
        "it sent a piece of no message");
}

TEST_CASE("an announcement of more bytes than the ring may hold is refused") {
  PeerPair pair;
  pair.in->put(eager(0, kEagerBytes + 1), BarrierMaker::each);
  CHECK(pair.refusal() == "it sent a descriptor that makes no sense");
}

TEST_CASE("an inlined message longer than its descriptor is refused") {
  PeerPair pair;
  pair.in->put({.kind = DescriptorKind::inlined, .length = Descriptor::kBody + 1},
               BarrierMaker::each);
  CHECK(pair.refusal() == "it sent a descriptor that makes no sense");
}

TEST_CASE("offers of memory that there is not, or of halves of elements, are refused") {
  std::vector<float> data(5000);
  Incoming message{.tag = {1}, .sink = {std::as_writable_bytes(std::span(data))}};
  message.sink.reduction = Reduction{ElementType::float32, ReduceOp::sum};
  const std::uint64_t bytes = data.size() * 4;
  const auto refusal = [&](const Descriptor::Terms& terms) {
    PeerPair pair;
    pair.heap.allocate(bytes);
    pair.peer.receive(message);
    pair.put(DescriptorKind::offer, 1, terms);
    return pair.refusal();
  };
  CHECK(refusal({.bytes = bytes, .region = 70'000}) ==
        "it named shared memory that it does not have");
  CHECK(refusal({.bytes = bytes, .generation = 0}) == "it named shared memory beyond its end");
  CHECK(refusal({.bytes = bytes, .offset = 4096, .generation = 1}) ==
        "it named shared memory beyond its end");
  CHECK(refusal({.bytes = bytes, .offset = UINT64_MAX - 3, .generation = 1}) ==
        "it named shared memory beyond its end");
  CHECK(refusal({.bytes = bytes, .offset = 2, .generation = 1}) ==
        "it offered what begins within an element");
  CHECK(refusal({.bytes = bytes - 4, .generation = 1}) ==
        "it sent 19996 bytes where 20000 were expected");
}

Descriptor inlined_message(std::uint64_t tag, std::size_t length, std::byte value) {
  Descriptor descriptor{.kind = DescriptorKind::inlined, .tag = {tag}};
  descriptor.length = static_cast<std::uint16_t>(length);
  std::fill_n(descriptor.body, length, value);
  return descriptor;
}

TEST_CASE("a short message is received within a call, and one that comes before it later") {
  PeerPair pair;
  std::vector<std::byte> first(8);
  std::vector<std::byte> second(8);
  Incoming wanted{.tag = {2}, .sink = {second}};
  CHECK_FALSE(pair.peer.receive_now(wanted));
  pair.in->put(inlined_message(1, 8, std::byte{1}), BarrierMaker::each);
  CHECK_FALSE(pair.peer.receive_now(wanted));
  pair.in->put(inlined_message(2, 8, std::byte{2}), BarrierMaker::each);
  CHECK(pair.peer.receive_now(wanted));
  CHECK(wanted.moved == 8);
  CHECK(std::ranges::count(second, std::byte{2}) == 8);
  CHECK(pair.reports.received_messages == 0);
  Incoming other{.tag = {1}, .sink = {first}};
  CHECK(pair.peer.receive_now(other));
  CHECK(pair.reports.received_messages == 0);
  CHECK(std::ranges::count(first, std::byte{1}) == 8);
  CHECK_FALSE(pair.peer.receive_now(other));
}

TEST_CASE("a message of another length is not received within a call, and refused afterwards") {
  PeerPair pair;
  std::vector<std::byte> data(8);
  Incoming message{.tag = {1}, .sink = {data}};
  pair.in->put(inlined_message(1, 9, std::byte{1}), BarrierMaker::each);
  CHECK_FALSE(pair.peer.receive_now(message));
  CHECK_FALSE(pair.peer.receive_now(message));
  const Error e = test::failure_of([&] { pair.peer.receive(message); });
  CHECK(std::string(e.what()) == "it sent 9 bytes where 8 were expected");
}

TEST_CASE("a message is sent within a call unless it is long, or the mailbox is full") {
  PeerPair pair;
  const std::vector<std::byte> longest(kEagerCopied);
  const std::vector<std::byte> longer(kEagerCopied + 1);
  Note note{};
  note[0] = std::byte{9};
  Outgoing too_long{.tag = {1}, .bytes = longer};
  CHECK_FALSE(pair.peer.send_now(too_long));
  CHECK_FALSE(test::taken_from(*pair.out));
  Outgoing message{.tag = {2}, .bytes = longest, .note = &note};
  CHECK(pair.peer.send_now(message));
  CHECK(pair.reports.sent_messages == 0);
  const auto put = test::taken_from(*pair.out);
  REQUIRE(put);
  CHECK(put->kind == DescriptorKind::eager);
  CHECK(put->length == longest.size());
  CHECK(put->note == NoteForm::whole);
  CHECK(put->body[0] == std::byte{9});
  CHECK_FALSE(test::taken_from(*pair.out));
  int sent = 0;
  Outgoing empty{.tag = {3}};
  while (pair.peer.send_now(empty))
    ++sent;
  CHECK(sent > 32);
}

TEST_CASE("notes that count on take no room, and come as they were") {
  PeerPair pair;
  const std::vector<std::byte> bytes(8);
  const auto noted = [](std::uint8_t kind, std::uint8_t count) {
    Note note{};
    note[0] = std::byte{kind};
    note[kCountInNote + 7] = std::byte{count};
    return note;
  };
  const std::vector<Note> notes{noted(1, 5), noted(1, 6), noted(1, 7),  noted(1, 7),
                                noted(2, 8), noted(2, 9), noted(1, 10), noted(1, 255)};
  const std::vector<NoteForm> forms{NoteForm::whole, NoteForm::next,  NoteForm::next,
                                    NoteForm::whole, NoteForm::whole, NoteForm::next,
                                    NoteForm::whole, NoteForm::whole};
  for (std::size_t i = 0; i < notes.size(); ++i) {
    Outgoing message{.tag = {i}, .bytes = bytes, .note = &notes[i]};
    REQUIRE(pair.peer.send_now(message));
    const auto put = test::taken_from(*pair.out);
    REQUIRE(put);
    CHECK(put->note == forms[i]);
    pair.in->put(*put, BarrierMaker::each);
    pair.progress();
    CHECK(pair.reports.last_note == notes[i]);
  }
}

TEST_CASE("the note of a long message goes ahead of it") {
  PeerPair pair;
  const std::vector<std::byte> bytes(kStagedForOne + 1);
  Note note{};
  note[0] = std::byte{9};
  Outgoing message{.tag = {1}, .bytes = bytes, .note = &note};
  pair.peer.send(message);
  const auto ahead = test::taken_from(*pair.out);
  REQUIRE(ahead);
  CHECK(ahead->kind == DescriptorKind::note);
  CHECK(ahead->body[0] == std::byte{9});
  CHECK(test::taken_from(*pair.out)->kind == DescriptorKind::announce);
}

TEST_CASE(
    "a message that is copied for its receiver is done at once, and its copy once it is read") {
  PeerPair pair;
  const std::vector<std::byte> bytes(kStagedForOne, std::byte{7});
  std::vector<Outgoing> messages(kStagedUnits + 1, Outgoing{.bytes = bytes});
  for (Outgoing& message : messages)
    pair.peer.send(message);
  CHECK(pair.reports.sent_messages == int{kStagedUnits});
  for (std::uint64_t i = 0; i < kStagedUnits; ++i) {
    const auto put = test::taken_from(*pair.out);
    REQUIRE(put);
    CHECK(put->kind == DescriptorKind::staged);
    CHECK(put->terms().bytes == bytes.size());
    CHECK(put->terms().offset == i * StagedMessages::kUnit);
  }
  CHECK(std::ranges::count(pair.copies, std::byte{7}) == std::ssize(pair.copies));
  CHECK(test::taken_from(*pair.out)->kind == DescriptorKind::announce);  // Without room.
  pair.put(DescriptorKind::ack, 0, {.request = 1});
  pair.progress();
  CHECK(pair.reports.sent_messages == int{kStagedUnits});
  Outgoing next{.bytes = bytes};
  pair.peer.send(next);
  const auto put = test::taken_from(*pair.out);
  REQUIRE(put);
  CHECK(put->kind == DescriptorKind::staged);
  CHECK(put->terms().offset == StagedMessages::kUnit);
}

TEST_CASE("a copy is not asked for in another way, and is taken once") {
  for (const DescriptorKind kind :
       {DescriptorKind::wanted, DescriptorKind::join, DescriptorKind::join_in_heap}) {
    PeerPair pair;
    const std::vector<std::byte> bytes(kStagedForOne);
    Outgoing message{.bytes = bytes};
    pair.peer.send(message);
    pair.put(kind, 0, {.request = 0});
    CHECK(pair.refusal().find("a message that was not offered") != std::string::npos);
  }
  PeerPair pair;
  const std::vector<std::byte> bytes(kStagedForOne);
  Outgoing message{.bytes = bytes};
  pair.peer.send(message);
  pair.put(DescriptorKind::ack, 0, {.request = 0});
  pair.put(DescriptorKind::ack, 0, {.request = 0});
  CHECK(pair.refusal() == "it took a message that was not offered");
}

TEST_CASE("a copy that the peer has made is received, or reduced, where it is") {
  PeerPair pair;
  std::vector<float> sum(StagedMessages::kUnit / sizeof(float), 1.0F);
  std::vector<float> copied(sum.size());
  const auto of_other = std::span(reinterpret_cast<float*>(pair.copies_of_other.data()),
                                  pair.copies_of_other.size() / sizeof(float));
  std::ranges::fill(of_other, 2.0F);
  Incoming added{.tag = {1}, .sink = {std::as_writable_bytes(std::span(sum))}};
  added.sink.reduction = Reduction{ElementType::float32, ReduceOp::sum};
  Incoming taken{.tag = {2}, .sink = {std::as_writable_bytes(std::span(copied))}};
  pair.peer.receive(added);
  for (const std::uint64_t tag : {1, 2})
    pair.put(DescriptorKind::staged, tag,
             {.bytes = StagedMessages::kUnit,
              .offset = tag * StagedMessages::kUnit,
              .request = static_cast<std::uint32_t>(tag)});
  pair.progress();
  CHECK(pair.reports.received_messages == 1);
  pair.peer.receive(taken);  // One that has come before.
  CHECK(pair.peer.has_left());
  pair.progress();
  CHECK_FALSE(pair.peer.has_left());
  CHECK(pair.reports.received_messages == 2);
  CHECK(std::ranges::count(sum, 3.0F) == std::ssize(sum));
  CHECK(std::ranges::count(copied, 2.0F) == std::ssize(copied));
  for (const std::uint32_t request : {1U, 2U}) {
    const auto answer = test::taken_from(*pair.out);
    REQUIRE(answer);
    CHECK(answer->kind == DescriptorKind::ack);
    CHECK(answer->terms().request == request);
  }
}

TEST_CASE("copies beyond what the peer shares, or at places where none begins, are refused") {
  const std::uint64_t all = kStagedUnits * StagedMessages::kUnit;
  for (const Descriptor::Terms terms :
       {Descriptor::Terms{.bytes = all + 4}, Descriptor::Terms{.bytes = 4, .offset = all},
        Descriptor::Terms{.bytes = 4, .offset = UINT64_MAX - StagedMessages::kUnit + 1},
        Descriptor::Terms{.bytes = 4, .offset = 4}}) {
    PeerPair pair;
    std::vector<std::byte> data(terms.bytes);
    Incoming message{.tag = {1}, .sink = {data}};
    pair.peer.receive(message);
    pair.put(DescriptorKind::staged, 1, terms);
    CHECK(pair.refusal() == "it named a copy that it cannot have made");
  }
}

TEST_CASE("what is offered and cannot be mapped comes through cells") {
  PeerPair pair;
  std::vector<std::byte> data(100'000);
  Incoming message{.tag = {1}, .sink = {data}};
  pair.peer.receive(message);
  const auto place = pair.heap.place_of(pair.heap.allocate(data.size()));
  pair.table[0].fd = 1'000'000;  // As where this process has no descriptor left to open it with.
  pair.put(DescriptorKind::offer, 1,
           {.bytes = data.size(), .request = 5, .generation = place->generation});
  pair.progress();
  const auto answer = test::taken_from(*pair.out);
  REQUIRE(answer);
  CHECK(answer->kind == DescriptorKind::wanted);
  CHECK(answer->terms().request == 5);
  std::ranges::fill(pair.in->free_cell(), std::byte{7});
  for (std::size_t at = 0; at < data.size(); at += kCellBytes) {
    if (at > 0) std::ranges::fill(pair.in->free_cell(), std::byte{7});
    pair.in->cell_filled();
    pair.put(DescriptorKind::piece, 0,
             {.bytes = std::min(kCellBytes, data.size() - at),
              .offset = at,
              .number = answer->terms().number});
    pair.progress();
  }
  CHECK(pair.reports.received_messages == 1);
  CHECK(std::ranges::count(data, std::byte{7}) == 100'000);
}

TEST_CASE("pieces beyond, before or between what is expected are refused") {
  for (const Descriptor::Terms terms :
       {Descriptor::Terms{.bytes = 3}, Descriptor::Terms{.bytes = 8, .offset = 8},
        Descriptor::Terms{.bytes = kCellBytes + 8}, Descriptor::Terms{.bytes = 8, .number = 1}}) {
    PeerPair pair;
    std::vector<float> data(5000);
    Incoming message{.tag = {1}, .sink = {std::as_writable_bytes(std::span(data))}};
    message.sink.reduction = Reduction{ElementType::float32, ReduceOp::sum};
    pair.peer.receive(message);
    pair.put(DescriptorKind::announce, 1, {.bytes = data.size() * 4});
    pair.put(DescriptorKind::piece, 0, terms);
    CHECK(pair.refusal() == "it sent a piece of no message");
  }
}

TEST_CASE("a peer that is far ahead waits, and what it has sent is all there") {
  PeerPair pair;
  SharedStores stores;
  std::vector<std::byte> bytes(kEagerBytes);
  const std::size_t limit = kMostUnasked / (kArrivalCost + bytes.size()) + 1;
  std::size_t put_count = 0;
  for (; pair.in->has_room() && pair.in->put_bytes(bytes, stores); ++put_count) {
    pair.in->put(eager(put_count, bytes.size()), BarrierMaker::each);
    pair.progress();
  }
  CHECK(put_count > limit);  // And what the mailbox holds.
  CHECK(put_count < limit + 1000);
  CHECK_FALSE(pair.peer.has_descriptors());
  for (std::size_t tag = 0; tag < put_count; ++tag) {
    Incoming message{.tag = {tag}, .sink = {bytes}};
    pair.peer.receive(message);
    pair.progress();
    REQUIRE(pair.reports.received_messages == static_cast<int>(tag) + 1);
  }
}

TEST_CASE("what is ahead of a message that is waited for is taken, but not without end") {
  PeerPair pair;
  SharedStores stores;
  std::vector<std::byte> bytes(kEagerBytes);
  Incoming awaited{.tag = {1 << 20}, .sink = {bytes}};
  pair.peer.receive(awaited);
  const std::size_t limit = kMostUnaskedAtAll / (kArrivalCost + bytes.size());
  std::size_t put_count = 0;
  const Error e = test::failure_of([&] {
    for (; put_count <= limit; ++put_count) {
      pair.in->put_bytes(bytes, stores);
      pair.in->put(eager(put_count, bytes.size()), BarrierMaker::each);
      pair.progress();
    }
  });
  CHECK(std::string(e.what()).find("was not asked for") != std::string::npos);
  CHECK(put_count == limit);
}

TEST_CASE("random descriptors never do more than be refused") {
  std::mt19937_64 random(9);
  for (int run = 0; run < 300; ++run) {
    PeerPair pair;
    pair.heap.allocate(70'000);
    std::deque<std::vector<float>> memory;
    std::deque<Incoming> wanted;
    std::deque<Outgoing> offered;
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
      memory.emplace_back(tag * 5000);
      wanted.push_back({.tag = {tag}, .sink = {std::as_writable_bytes(std::span(memory.back()))}});
      if (tag % 2 == 0)
        wanted.back().sink.reduction = Reduction{ElementType::float32, ReduceOp::sum};
      pair.peer.receive(wanted.back());
      offered.push_back({.tag = {tag}, .bytes = std::as_bytes(std::span(memory.back()))});
      pair.peer.send(offered.back());
    }
    try {
      for (int i = 0; i < 20; ++i) {
        Descriptor descriptor{.kind = DescriptorKind(random() % 12),
                              .note = NoteForm(random() % 4),
                              .length = static_cast<std::uint16_t>(random() % 60),
                              .tag = {random() % 5}};
        const auto few = [&](std::uint64_t most) {
          return random() % 8 == 0 ? random() : random() % most;
        };
        descriptor.set({.bytes = few(5) * 20'000,
                        .offset = few(3) * 4,
                        .request = static_cast<std::uint32_t>(few(4)),
                        .number = static_cast<std::uint32_t>(few(4)),
                        .region = static_cast<std::uint32_t>(few(2)),
                        .generation = static_cast<std::uint32_t>(few(3))});
        pair.in->put(descriptor, BarrierMaker::each);
        for (int turn = 0; turn < 5; ++turn)
          pair.peer.progress();
        while (test::taken_from(*pair.out)) {
        }
      }
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::remote);
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
