#include "comm/transports/peer_memory.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <numeric>
#include <vector>

#include "comm/transports/shared_peer.hpp"
#include "support/child.hpp"
#include "support/failure.hpp"
#include "support/own_memory.hpp"
#include "support/taken_from.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

/// What comes of a message that is announced, and may be read where it is.
struct Announced {
  std::unique_ptr<Mailbox> out = std::make_unique<Mailbox>();
  std::unique_ptr<Mailbox> in = std::make_unique<Mailbox>();
  std::vector<RegionRow> table{kMostRegions};
  SharedHeap heap{table};
  test::TransportReports reports;
  UnaskedBytes unasked;
  StagedMessages staged{{}, reports};
  SharedPeer peer{Rank{1},
                  {.out = *out,
                   .in = *in,
                   .staged = staged,
                   .staged_by_peer = {},
                   .heap = heap,
                   .heap_of_peer = PeerHeap(::getpid(), table),
                   .memory_of_peer = test::own_memory()},
                  reports,
                  unasked,
                  BarrierMaker::each};

  void receive(std::span<const float> there, std::span<float> here,
               std::optional<Reduction> reduction) {
    Incoming message{.tag = {1}, .sink = {std::as_writable_bytes(here), reduction}};
    peer.receive(message);
    Descriptor descriptor{.kind = DescriptorKind::announce, .tag = {1}};
    descriptor.set(
        {.bytes = there.size_bytes(), .offset = test::address_of(there.data()), .request = 5});
    in->put(descriptor, BarrierMaker::each);
    while (peer.progress()) {
    }
  }
};

TEST_SUITE_BEGIN("comm/peer_memory");

TEST_CASE("a process is stopped by a signal, until it is continued") {
  const std::vector<std::byte> known(16, std::byte{7});
  const test::Child child([] {
    ::raise(SIGSTOP);
    for (;;)
      ::pause();
    return 0;
  });
  const PeerMemory memory(child.pid(), test::address_of(known.data()), known);
  REQUIRE(::waitpid(child.pid(), nullptr, WUNTRACED) == child.pid());
  CHECK(memory.is_stopped());
  ::kill(child.pid(), SIGCONT);
  REQUIRE(::waitpid(child.pid(), nullptr, WCONTINUED) == child.pid());
  CHECK_FALSE(memory.is_stopped());
  CHECK_FALSE(test::own_memory().is_stopped());
}

TEST_CASE("memory is read only where what is known of it is found there") {
  const std::vector<std::byte> known(16, std::byte{7});
  const std::vector<std::byte> other(16, std::byte{8});
  CHECK(test::own_memory().is_readable());
  CHECK_FALSE(PeerMemory().is_readable());
  CHECK_FALSE(PeerMemory(::getpid(), test::address_of(other.data()), known).is_readable());
  CHECK_FALSE(PeerMemory(::getpid(), 8, known).is_readable());
  CHECK_FALSE(PeerMemory(999'999'999, test::address_of(known.data()), known).is_readable());
}

TEST_CASE("reading what is not there is the other rank's fault") {
  std::vector<std::byte> into(100);
  const Error e = test::failure_of([&] { test::own_memory().read(into, 8); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()) == "reading its memory: Bad address");
}

TEST_CASE("what is announced is read where its sender has it, stored or reduced") {
  std::vector<float> there(30'001);  // Too few for the sender to copy a part.
  std::iota(there.begin(), there.end(), 0.0F);
  for (const bool reduces : {false, true}) {
    CAPTURE(reduces);
    Announced announced;
    std::vector<float> here(there.size(), 0.5F);
    announced.receive(
        there, here,
        reduces ? std::optional(Reduction{ElementType::float32, ReduceOp::sum}) : std::nullopt);
    CHECK(announced.reports.received_messages == 1);
    CHECK(here.front() == (reduces ? 0.5F : 0.0F));
    CHECK(here.back() == 30'000 + (reduces ? 0.5F : 0.0F));
    const auto answer = test::taken_from(*announced.out);
    REQUIRE(answer);
    CHECK(answer->kind == DescriptorKind::ack);
    CHECK(answer->terms().request == 5);
  }
}

TEST_CASE("memory is written to where it is, and a failure to write is no error") {
  std::vector<std::byte> there(100);
  const std::vector<std::byte> bytes(100, std::byte{3});
  CHECK(test::own_memory().write(bytes, test::address_of(there.data())));
  CHECK(there == bytes);
  CHECK_FALSE(test::own_memory().write(bytes, 8));
  CHECK_FALSE(PeerMemory().write(bytes, test::address_of(there.data())));
}

TEST_CASE("a process is there as long as its memory") {
  CHECK(test::own_memory().is_there());
  CHECK_FALSE(PeerMemory().is_there());
}

TEST_CASE("an announcement of memory that is not there is refused") {
  Announced announced;
  std::vector<float> here(10'000);
  const float* const nowhere = nullptr;
  const Error e = test::failure_of([&] {
    announced.receive({nowhere, here.size()}, here, std::nullopt);
  });
  CHECK(e.kind() == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
