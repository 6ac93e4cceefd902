// The small parts that transports are made of.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "comm/rendezvous/endpoint.hpp"
#include "comm/transports/mailbox.hpp"
#include "comm/transports/shared_heap.hpp"
#include "comm/transports/tag_table.hpp"
#include "comm/transports/tcp_flow.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "comm/transports/tcp_transport.hpp"
#include "support/failure.hpp"
#include "support/taken_from.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Both ends of a TCP connection within this machine.
std::pair<UniqueFd, UniqueFd> connected_sockets() {
  const Endpoint loopback{.address = {std::byte{127}, {}, {}, std::byte{1}}};
  const UniqueFd listener = listen_at(loopback);
  PeerConnection near = connect_to(local_end(listener.get()), std::nullopt, Deadline(2s));
  REQUIRE(near.error == 0);
  pollfd waiting{listener.get(), POLLIN, 0};
  REQUIRE(::poll(&waiting, 1, 2000) == 1);
  return {std::move(near.socket), UniqueFd(::accept(listener.get(), nullptr, nullptr))};
}

TEST_SUITE_BEGIN("comm/transports");

TEST_CASE("a table of tags finds a message whatever its type") {
  const MessageTag sent = {std::uint64_t{message_lane(ElementType::float32)} << kChannelBits};
  const MessageTag expected = {std::uint64_t{message_lane(ElementType::int64)} << kChannelBits};
  const MessageTag next = {sent.value + 1};
  TagTable<int> table;
  table.add(sent, 1);
  table.add(next, 2);
  CHECK(table.key_of(expected) == sent);
  CHECK(table.take(expected) == 1);
  CHECK(table.find(sent) == nullptr);
  CHECK(table.take(next) == 2);
}

TEST_CASE("a frame is read as it was written") {
  const Frame frame{.kind = TcpFrameKind::chunk,
                    .tag = {0x123456789abcdef0},
                    .length = 4096,
                    .offset = std::uint64_t{5} << 32,
                    .total = std::uint64_t{6} << 32};
  Frame marked = frame;
  marked.wants_acknowledgement = true;
  CHECK(decode_frame(encode(marked)).wants_acknowledgement);
  CHECK(decode_frame(encode(marked)).kind == frame.kind);
  const Frame read = decode_frame(encode(frame));
  CHECK(!read.wants_acknowledgement);
  CHECK(read.tag == frame.tag);
  CHECK(read.length == frame.length);
  CHECK(read.offset == frame.offset);
  CHECK(read.total == frame.total);
}

TEST_CASE("frames that came together are all heard of before the connection is left to itself") {
  struct Count : FrameEvents {
    bool may_read() const noexcept override { return true; }
    bool may_stay(const Frame&) override { return false; }
    std::span<std::byte> target_of(const Frame&) override { return {}; }
    void arrived(const Frame&, std::span<const std::byte>) override { ++frames; }
    int frames = 0;
  } count;
  int ends[2] = {};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const UniqueFd sender(ends[0]);
  LinkCounters link;
  TcpFlow flow(UniqueFd(ends[1]), link);
  constexpr int kFrames = 100;
  for (int i = 0; i < kFrames; ++i) {
    const EncodedFrame frame = encode({.kind = TcpFrameKind::bell});
    REQUIRE(::write(sender.get(), frame.data(), frame.size()) == std::ssize(frame));
  }
  const auto is_readable = [&] {
    pollfd socket{flow.socket(), POLLIN, 0};
    return ::poll(&socket, 1, 0) == 1;
  };
  while (is_readable())
    flow.read(count);
  CHECK(count.frames == kFrames);
}

TEST_CASE("what cannot arrive any more is not waited for") {
  auto [near, far] = connected_sockets();
  std::vector<std::vector<UniqueFd>> sockets(2);
  sockets[1].push_back(std::move(near));
  test::TransportReports reports;
  std::optional<TcpTransport> transport(std::in_place, std::move(sockets), reports, reports);
  const std::vector<std::byte> bytes(60'000);
  std::deque<Outgoing> more_than_buffers_hold(200);
  for (std::size_t i = 0; i < more_than_buffers_hold.size(); ++i) {
    more_than_buffers_hold[i] = {.peer = {1}, .tag = {i}, .bytes = bytes};
    transport->send(more_than_buffers_hold[i]);
  }

  far = UniqueFd();
  const auto begin = std::chrono::steady_clock::now();
  transport.reset();

  CHECK(std::chrono::steady_clock::now() - begin < 1s);
}

TEST_CASE("descriptors and their bytes come in order, however often the rings go round") {
  const auto mailbox = std::make_unique<Mailbox>();
  SharedStores stores;
  std::mt19937 random(3);
  std::vector<std::size_t> sizes;
  std::size_t read = 0;
  while (read < 5000) {
    const std::size_t size = random() % kEagerBytes + 1;
    const std::vector<std::byte> bytes(size, static_cast<std::byte>(sizes.size()));
    if (mailbox->has_room() && mailbox->put_bytes(bytes, stores)) {
      mailbox->put({.kind = DescriptorKind::eager, .length = static_cast<std::uint16_t>(size)},
                   BarrierMaker::each);
      sizes.push_back(size);
      if (random() % 3 != 0) continue;
    }
    const auto descriptor = test::taken_from(*mailbox);
    REQUIRE(descriptor);
    REQUIRE(descriptor->length == sizes[read]);
    const auto got = mailbox->bytes(sizes[read]);
    CHECK(std::ranges::count(got, static_cast<std::byte>(read)) ==
          static_cast<std::ptrdiff_t>(sizes[read]));
    mailbox->drop_bytes(sizes[read++]);
  }
}

TEST_CASE("descriptors of every length come whole, wherever in the ring they begin") {
  for (const BarrierMaker maker : {BarrierMaker::each, BarrierMaker::receiver}) {
    const auto mailbox = std::make_unique<Mailbox>();
    std::mt19937 random(4);
    std::deque<Descriptor> sent;
    MessageTag tag{};
    for (int i = 0; i < 20'000; ++i) {
      // Most tags are those of the next call, which are left out.
      const bool is_other = random() % 4 == 0;
      tag.value = is_other ? random() : tag.value + (std::uint64_t{1} << kCallShift);
      Descriptor descriptor{.note = NoteForm(random() % 3), .tag = tag};
      const std::size_t note = descriptor.note == NoteForm::whole ? kNoteBytes : 0;
      descriptor.length = static_cast<std::uint16_t>(random() % (Descriptor::kBody - note + 1));
      std::ranges::generate(descriptor.body, [&] { return static_cast<std::byte>(random()); });
      while (!mailbox->has_room() || (!sent.empty() && random() % 8 == 0)) {
        const auto got = test::taken_from(*mailbox);
        REQUIRE(got);
        const Descriptor& expected = sent.front();
        CHECK(got->tag == expected.tag);
        CHECK(got->length == expected.length);
        CHECK(got->note == expected.note);
        CHECK(std::equal(got->body, got->body + expected.used_body(), expected.body));
        sent.pop_front();
      }
      mailbox->put(descriptor, maker);
      sent.push_back(descriptor);
    }
    for (; !sent.empty(); sent.pop_front())
      CHECK(test::taken_from(*mailbox)->tag == sent.front().tag);
    CHECK_FALSE(mailbox->has_descriptor());
  }
}

TEST_CASE("a ring has room for more messages if each has the tag of the next call") {
  const auto room_for = [](std::uint64_t step) {
    const auto mailbox = std::make_unique<Mailbox>();
    MessageTag tag{7};
    const std::vector<std::byte> bytes(8);
    int put = 0;
    for (; mailbox->has_room(); ++put, tag.value += step)
      mailbox->put_inlined(tag, NoteForm::none, nullptr, bytes, BarrierMaker::each);
    for (int i = 0; i < put; ++i) {
      const auto got = test::taken_from(*mailbox);
      REQUIRE(got);
      CHECK(got->tag.value == 7 + static_cast<std::uint64_t>(i) * step);
    }
    return put;
  };
  CHECK(room_for(std::uint64_t{1} << kCallShift) > 1.4 * room_for(1));
}

TEST_CASE("a message with its note is put as its descriptor would be") {
  const auto mailbox = std::make_unique<Mailbox>();
  Note note{};
  note[0] = std::byte{9};
  const std::vector<std::byte> bytes(10, std::byte{7});
  mailbox->put_inlined({.value = 5}, NoteForm::whole, &note, bytes, BarrierMaker::receiver);
  const auto got = test::taken_from(*mailbox);
  REQUIRE(got);
  CHECK(got->kind == DescriptorKind::inlined);
  CHECK(got->tag.value == 5);
  CHECK(got->note == NoteForm::whole);
  CHECK(got->length == bytes.size());
  CHECK(got->body[0] == std::byte{9});
  CHECK(std::equal(bytes.begin(), bytes.end(), got->body + kNoteBytes));
}

TEST_CASE("a ring in which anything is written gives descriptors within it, and no others") {
  std::mt19937 random(5);
  for (int run = 0; run < 200; ++run) {
    const auto mailbox = std::make_unique<Mailbox>();
    auto* const memory = reinterpret_cast<std::byte*>(mailbox.get());
    std::generate_n(memory, sizeof(*mailbox) / 20, [&] {
      // Heads have small numbers.
      return static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 10);
    });
    for (int i = 0; i < 3000; ++i) {
      const auto got = test::taken_from(*mailbox);
      if (got) CHECK(got->used_body() <= Descriptor::kBody);
    }
  }
}

TEST_CASE("what one heap holds is found in another's mapping, as long as it is there") {
  std::vector<RegionRow> table(kMostRegions);
  SharedHeap heap(table);
  PeerHeap peer(::getpid(), table);
  const auto memory = heap.allocate(3 << 20);
  memory[1'000'000] = std::byte{42};

  const auto place = heap.place_of(memory.subspan(1'000'000, 10));
  REQUIRE(place);
  CHECK(peer.at(*place, 10).front() == std::byte{42});
  CHECK(test::failure_of([&] { peer.at(*place, 4 << 20); }).kind() == ErrorKind::remote);
  const std::byte outside{};
  CHECK_FALSE(heap.place_of({&outside, 1}));

  heap.free(memory.data());
  const auto second = heap.allocate(100);
  const auto its_place = heap.place_of(second);
  REQUIRE(its_place);
  second[0] = std::byte{43};
  CHECK(its_place->region == place->region);
  CHECK(peer.at(*its_place, 100).front() == std::byte{43});
}

TEST_CASE("more shared memory than there is is refused before any of it is taken") {
  std::vector<RegionRow> table(kMostRegions);
  SharedHeap heap(table);
  for (const std::size_t bytes : {std::size_t{1} << 46, std::size_t{1} << 62, SIZE_MAX}) {
    const Error e = test::failure_of([&] { heap.allocate(bytes); });
    CHECK(e.kind() == ErrorKind::capacity);
    CHECK(test::mentions(e, "no room for "));
    CHECK(test::mentions(e, " can spare "));
  }
  CHECK(table[0].fd == -1);
  CHECK(heap.allocate(100).size() == 100);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
