// Both ends of shared memory as two threads at once. They use one mailbox at one address, so that
// the thread sanitizer sees what they do to it, which it does not through two mappings.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "comm/transports/control_channel.hpp"
#include "comm/transports/mailbox.hpp"
#include "comm/transports/shared_memory_transport.hpp"
#include "comm/transports/shared_stores.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("comm/shared_memory_threads");

/// Returns the bytes of a message, which its number and the other fields of its descriptor give.
std::byte byte_of(std::uint64_t message) {
  return static_cast<std::byte>(message * 37 + 11);
}

bool all_are(std::span<const std::byte> bytes, std::byte expected) {
  return std::ranges::all_of(bytes, [&](std::byte each) { return each == expected; });
}

/// The length of a message: some are in the descriptor, some in the ring of bytes, some in a cell.
std::size_t length_of(std::uint64_t message) {
  constexpr std::size_t kLengths[] = {0, 8, Descriptor::kBody, 200, 5000, kEagerCopied, kCellBytes};
  return kLengths[message % std::size(kLengths)];
}

/// Puts a message if there is room for all of it.
bool put(Mailbox& mailbox, SharedStores& stores, std::uint64_t message, BarrierMaker maker) {
  if (!mailbox.has_room()) return false;
  const std::size_t length = length_of(message);
  const std::vector<std::byte> bytes(length, byte_of(message));
  if (length <= Descriptor::kBody) {
    mailbox.put_inlined({message}, NoteForm::none, nullptr, bytes, maker);
    return true;
  }
  Descriptor descriptor{.kind = DescriptorKind::eager, .tag = {message}};
  if (length == kCellBytes) {
    const std::span<std::byte> cell = mailbox.free_cell();
    if (cell.empty()) return false;
    std::ranges::copy(bytes, cell.begin());
    mailbox.cell_filled();
    descriptor.kind = DescriptorKind::piece;
    descriptor.set({.bytes = length});
  } else {
    if (!mailbox.put_bytes(bytes, stores)) return false;
    descriptor.length = static_cast<std::uint16_t>(length);
  }
  mailbox.put(descriptor, maker);
  return true;
}

/// Returns whether the descriptor is that of this message, and its bytes are, which it drops.
bool is_message(Mailbox& mailbox, const Descriptor& descriptor, std::uint64_t message) {
  const std::size_t length = length_of(message);
  bool is_right = descriptor.tag.value == message;
  if (descriptor.kind == DescriptorKind::inlined)
    return is_right && descriptor.length == length &&
           all_are(std::span(descriptor.body).first(length), byte_of(message));
  if (descriptor.kind == DescriptorKind::piece) {
    is_right =
        is_right && descriptor.terms().bytes == length && all_are(mailbox.cell(), byte_of(message));
    mailbox.drop_cell();
    return is_right;
  }
  is_right = is_right && descriptor.length == length &&
             all_are(mailbox.bytes(descriptor.length), byte_of(message));
  mailbox.drop_bytes(descriptor.length);
  return is_right;
}

TEST_CASE("what one thread puts another takes whole, in order, whichever of them makes barriers") {
  constexpr std::uint64_t kMessages = 7'000;
  for (const BarrierMaker maker : {BarrierMaker::each, BarrierMaker::receiver}) {
    const auto mailbox = std::make_unique<Mailbox>();
    std::jthread sender([&] {
      SharedStores stores;
      for (std::uint64_t message = 0; message < kMessages; ++message)
        while (!put(*mailbox, stores, message, maker))
          std::this_thread::yield();
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t message = 0; message < kMessages; ++message) {
      Descriptor descriptor;
      while (!mailbox->take(descriptor))
        std::this_thread::yield();
      if (!is_message(*mailbox, descriptor, message)) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

/// A channel that wakes one sleeper of this process.
class Bell final : public ControlChannel {
 public:
  bool progress() override { return false; }
  void wake(Rank) override { bell_.release(); }
  void ask(Rank, std::span<const std::byte>) override {}
  void answer(Rank, std::span<const std::byte>) override {}
  void send_abort(std::span<const std::byte>, std::chrono::milliseconds) noexcept override {}
  bool is_unacknowledged(Rank) const noexcept override { return false; }

  /// Sleeps until it rings. Returns false if it has not for so long.
  bool sleep(std::chrono::seconds longest) { return bell_.try_acquire_for(longest); }

 private:
  std::counting_semaphore<> bell_{0};
};

TEST_CASE("a rank that falls asleep while another sends to it is woken, each time") {
  constexpr int kMessages = 1'000;
  SharedMemoryTransport sender(Rank{0}, 2), receiver(Rank{1}, 2);
  REQUIRE(sender.connect(Rank{1}, receiver.address()));
  REQUIRE(receiver.connect(Rank{0}, sender.address()));
  Bell bell, unused;
  test::TransportReports sent, received;
  sender.open(sent, bell);
  receiver.open(received, unused);
  std::vector<std::byte> bytes(8), into(8);
  std::atomic<int> taken{0};
  std::atomic<bool> has_given_up{false};
  std::jthread sending([&] {
    for (int i = 0; i < kMessages && !has_given_up; ++i) {
      while (taken.load(std::memory_order_acquire) < i && !has_given_up) {
      }
      Outgoing message{.peer = {1}, .tag = {static_cast<std::uint64_t>(i)}, .bytes = bytes};
      sender.send(message);
      REQUIRE(sent.sent_messages == i + 1);
    }
  });
  std::mt19937 random(3);
  for (int i = 0; i < kMessages && !has_given_up; ++i) {
    Incoming message{.peer = {0}, .tag = {static_cast<std::uint64_t>(i)}, .sink = {into}};
    receiver.receive(message);
    taken.store(i, std::memory_order_release);
    // The next message is under way: it comes before, while or after this rank falls asleep.
    for (auto pause = random() % 2048; pause > 0; --pause)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    while (received.received_messages == i && !has_given_up) {
      if (receiver.may_sleep() && !bell.sleep(10s)) has_given_up = true;
      receiver.woke();
      receiver.progress();
    }
  }
  CHECK_FALSE(has_given_up);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
