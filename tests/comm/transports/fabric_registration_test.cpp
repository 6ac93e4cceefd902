// Memory that the transport by the fabric registers, and memory that it copies instead.
#include "comm/transports/fabric_transport.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/fabric_ranks.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::all_wires;
using test::communicators_by;
using test::FabricPair;
using test::FabricWire;
using test::failure_of;
using test::run_ranks;
using test::TransportReports;
using test::WireTraits;

TEST_SUITE_BEGIN("comm/fabric_transport");

TEST_CASE("memory of the communicator is registered once, however often it is used") {
  const auto wire =
      std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data, .needs_local = true});
  auto ranks = communicators_by(wire, 2);
  int after_first = 0;
  run_ranks(ranks, [&](Communicator& comm) {
    const auto memory = comm.allocate(8'000'000);
    for (int i = 0; i < 5; ++i) {
      comm.all_reduce(memory, {ElementType::float32, ReduceOp::sum});
      comm.barrier();
      if (i == 0 && comm.rank() == Rank{0}) after_first = wire->registrations;
      comm.barrier();
    }
    comm.free(memory);
  });
  CHECK(wire->registrations == after_first);
}

TEST_CASE("the program's memory is copied up to the limit, and registered for one piece above it") {
  constexpr std::size_t kLimit = 100'000;
  for (const WireTraits& traits : all_wires()) {
    const bool are_registered_there = traits.put != fabric::Put::none || traits.needs_local;
    const int registered = int(are_registered_there) + int(traits.needs_local);
    FabricPair pair(traits, kLimit);
    CHECK(pair.brings(1, kLimit));
    const int before = pair.wire->registrations;
    CHECK(pair.brings(2, kLimit));
    CHECK(pair.wire->registrations == before);
    CHECK(pair.brings(3, kLimit + 1));
    CHECK(pair.wire->registrations == before + registered);
    CHECK(pair.brings(4, kLimit + 1));
    CHECK(pair.wire->registrations == before + 2 * registered);
  }
}

TEST_CASE("the limit of copies is measured") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  const auto endpoint = wire->endpoint();
  const int before = wire->registrations;
  CHECK(measured_copy_limit(*endpoint) <= kMaxCopied);
  CHECK(wire->registrations > before);
}

TEST_CASE("what may not be registered is copied, and that is reported once") {
  constexpr std::size_t kMebibyte = 1 << 20;
  for (const fabric::Put put : fabric::kPuts) {
    // Frames, blocks for copies, and no more than two pieces have room.
    FabricPair pair({.put = put, .needs_local = true, .lockable = 8 * kMebibyte}, 0);
    for (std::uint64_t tag = 0; tag < 3; ++tag)
      CHECK(pair.brings(tag, 33 * kMebibyte + 5));
    const auto warnings = pair.reports[0].warnings.size() + pair.reports[1].warnings.size();
    CHECK(warnings >= 1);
    for (const TransportReports& reports : pair.reports) {
      CHECK(reports.losses == 0);
      CHECK(reports.warnings.size() <= 1);
    }
  }
}

TEST_CASE("a fabric that may lock next to nothing is an error before any message") {
  const auto wire =
      std::make_shared<FabricWire>(WireTraits{.needs_local = true, .lockable = 65'536});
  CHECK(failure_of([&] { FabricTransport({0}, 2, wire->endpoint()); }).kind() ==
        ErrorKind::capacity);
}

/// Takes all memory for that of GPU 3.
fabric::MemoryLocation on_gpu(const void* /*memory*/) {
  return {.kind = fabric::MemoryKind::cuda, .device = 3};
}

TEST_CASE("long messages go directly from and to memory of GPUs, which is registered for them") {
  constexpr std::size_t kBytes = 9'000'001;
  for (const fabric::Put put : fabric::kPuts) {
    CAPTURE(name_of(put));
    FabricPair pair({.put = put, .takes_device_memory = true});
    for (const auto& rank : pair.ranks)
      rank->device_memory().find_locations_by(on_gpu);
    std::vector<std::byte> out(kBytes, std::byte{5});
    std::vector<std::byte> in(kBytes);
    REQUIRE(pair.ranks[0]->take_device_memory(out));
    REQUIRE(pair.ranks[0]->take_device_memory(out));
    REQUIRE(pair.ranks[1]->take_device_memory(in));
    const int registrations = pair.wire->registrations;
    Outgoing sent{.peer = {1}, .tag = {1}, .bytes = out};
    Incoming received{.peer = {0}, .tag = {1}, .sink = {.memory = in}};
    pair.ranks[0]->send(sent);
    pair.ranks[1]->receive(received);
    pair.ranks[0]->give_back_device_memory(out);
    pair.progress(200);
    CHECK(in == out);
    CHECK(pair.wire->device_registrations == 2);
    CHECK(pair.wire->registrations == registrations);  // Nothing was copied or registered besides.
    CHECK(pair.ranks[0]->links().front().direct_bytes == 2 * kBytes);
    pair.ranks[0]->give_back_device_memory(out);
    pair.ranks[1]->give_back_device_memory(in);
  }
}

TEST_CASE("memory of GPUs that the fabric does not take passes through the host, for a reason") {
  std::vector<std::byte> memory(100'003);
  const auto takes = [&](FabricPair& pair) { return pair.ranks[0]->take_device_memory(memory); };
  FabricPair of_host({.takes_device_memory = true});
  CHECK_FALSE(takes(of_host));
  FabricPair unable;
  unable.ranks[0]->device_memory().find_locations_by(on_gpu);
  CHECK_FALSE(takes(unable));
  CHECK(unable.ranks[0]->report_of_device_memory().ends_with("lacks FI_HMEM for it"));
  FabricPair refusing({.takes_device_memory = true});
  refusing.ranks[0]->device_memory().find_locations_by(on_gpu);
  refusing.wire->refuses_devices = true;
  CHECK_FALSE(takes(refusing));
  refusing.wire->refuses_devices = false;
  CHECK_FALSE(takes(refusing));
  CHECK(refusing.reports[0].warnings ==
        std::vector<std::string>{"messages between hosts pass through pinned memory of the host: "
                                 "wire on test has refused it: no memory of GPU 3"});
  FabricPair able({.takes_device_memory = true});
  able.ranks[0]->device_memory().find_locations_by(on_gpu);
  CHECK_FALSE(able.ranks[0]->take_device_memory(std::span(memory).first(16'000)));
  CHECK(takes(able));
  able.ranks[0]->device_memory().forbid();
  CHECK_FALSE(takes(able));
}

TEST_CASE("memory of a message to a rank that is lost is given back, or the fabric is given up") {
  for (const fabric::Put put : {fabric::Put::none, fabric::Put::with_data}) {
    FabricPair pair({.put = put});
    std::vector<std::byte> bytes(100'000);
    std::vector<std::byte> into(100'000);
    Outgoing sent{.peer = {1}, .tag = {1}, .bytes = bytes};
    Incoming wanted{.peer = {0}, .tag = {1}, .sink = {.memory = into}};
    pair.wire->holds_puts = true;
    pair.ranks[1]->receive(wanted);
    pair.ranks[0]->send(sent);
    pair.progress();
    // The receive can be taken back; what has been sent cannot.
    pair.ranks[1]->forget({0});
    CHECK(pair.wire->stops == 0);
    pair.ranks[0]->forget({1});
    CHECK(pair.wire->stops == 1);
    CHECK(pair.reports[0].sent_messages == 0);
    CHECK(pair.reports[1].received_messages == 0);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
