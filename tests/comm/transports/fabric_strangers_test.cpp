// Bytes of strangers, and invalid frames of a rank, at the transport by the fabric.
#include "comm/transports/fabric_transport.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/fabric_ranks.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::FabricWire;
using test::mentions;
using test::TransportReports;
using test::WireTraits;

/// Rank 1 of two, whose frames from rank 0 the test writes itself.
struct Victim {
  explicit Victim(fabric::Put put = fabric::Put::none)
      : wire(std::make_shared<FabricWire>(WireTraits{.put = put})),
        transport({1}, 2, wire->endpoint()),
        impostor(wire->endpoint()),
        to(impostor->add_peer(transport.card().address).value()) {
    fabric::Card card = transport.card();
    card.address = impostor->address();
    REQUIRE(transport.connect({0}, card));
    transport.open(reports);
  }

  FabricFrame frame(FabricFrameKind kind) const {
    return {.kind = kind, .rank = 0, .token = transport.card().token};
  }
  void send(const FabricFrame& frame) {
    std::vector<std::byte> bytes(kFabricFrameBytes);
    bytes.resize(encode(frame, bytes));
    send(bytes);
  }
  void send(std::span<const std::byte> bytes) {
    impostor->inject(to, bytes);
    for (int i = 0; i < 5; ++i)
      transport.progress();
  }
  Error failure() const { return reports.failure.value(); }

  std::shared_ptr<FabricWire> wire;
  TransportReports reports;
  FabricTransport transport;
  std::unique_ptr<fabric::FabricEndpoint> impostor;
  fabric::PeerNumber to;
};
TEST_SUITE_BEGIN("comm/fabric_transport");

TEST_CASE("an endpoint whose address is of another kind is not connected to") {
  const auto wire = std::make_shared<FabricWire>();
  FabricTransport own({0}, 2, wire->endpoint());
  FabricTransport other({1}, 2, wire->endpoint());
  fabric::Card card = other.card();
  CHECK(own.connect({1}, card));
  card.address.resize(card.address.size() + 12);
  FabricTransport third({0}, 2, wire->endpoint());
  CHECK_FALSE(third.connect({1}, card));
  CHECK_FALSE(third.reaches({1}));
}

TEST_CASE("an endpoint that the provider does not reach is not connected to") {
  const auto wire = std::make_shared<FabricWire>();
  FabricTransport own({0}, 2, wire->endpoint());
  fabric::Card card = FabricTransport({1}, 2, wire->endpoint()).card();
  card.scope = own.card().scope + 1;
  CHECK_FALSE(own.connect({1}, card));
  CHECK_FALSE(own.reaches({1}));
}

TEST_CASE("what comes from no rank of the job is ignored") {
  Victim victim;
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::byte> noise(random() % 300);
    for (std::byte& byte : noise)
      byte = static_cast<std::byte>(random());
    victim.send(noise);
  }
  FabricFrame frame = victim.frame(FabricFrameKind::message);
  frame.token += 1;
  victim.send(frame);
  frame = victim.frame(FabricFrameKind::message);
  frame.rank = 7;
  victim.send(frame);
  victim.send(std::vector<std::byte>(kFabricFrameBytes + 1));
  CHECK(victim.transport.strangers() == 53);
  CHECK_FALSE(victim.reports.failure);
  victim.send(victim.frame(FabricFrameKind::message));
  std::byte nothing{};
  Incoming wanted{.peer = {0}, .sink = {.memory = std::span(&nothing, 0)}};
  victim.transport.receive(wanted);
  CHECK(victim.reports.received_messages == 1);
}

TEST_CASE("frames of a rank that make no sense end the connection with it") {
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    Victim victim;
    std::vector<std::byte> bytes(kFabricFrameBytes);
    FabricFrame frame = victim.frame(FabricFrameKind::credit);
    frame.credit = 1;  // Nothing was sent.
    bytes.resize(encode(frame, bytes));
    if (i > 0) bytes.resize(kFabricHead + random() % 60);
    if (i > 0) bytes[4] = static_cast<std::byte>(FabricFrameKind::grant);
    victim.send(bytes);
    CHECK(victim.failure().kind() == ErrorKind::remote);
    CHECK(victim.reports.losses == 1);
  }
}

TEST_CASE("pieces, grants and lengths that were not agreed are refused") {
  std::vector<std::byte> memory(100'000);
  const auto failure_by = [&](const auto& act, fabric::Put put = fabric::Put::with_data) {
    Victim victim(put);
    Incoming wanted{.peer = {0}, .tag = {5}, .sink = {.memory = memory}};
    victim.transport.receive(wanted);
    act(victim);
    REQUIRE(victim.reports.failure);
    CHECK(victim.reports.received_messages == 0);
    return std::string(victim.failure().what());
  };
  CHECK(failure_by([](Victim& victim) {
          FabricFrame frame = victim.frame(FabricFrameKind::message);
          frame.tag = {5};
          victim.send(frame);
        }) == "it sent 0 bytes where 100000 were expected");
  CHECK(failure_by([](Victim& victim) {
          FabricFrame frame = victim.frame(FabricFrameKind::done);
          frame.grant = {.length = 99, .number = 0};
          victim.send(frame);
        }) == "it sent a piece that was not asked for");
  const auto granting = [&](FabricGrant grant, int times) {
    return failure_by([&](Victim& victim) {
      Outgoing mine{.peer = {0}, .tag = {6}, .bytes = memory};
      victim.transport.send(mine);
      FabricFrame frame = victim.frame(FabricFrameKind::grant);
      frame.tag = {6};
      frame.grant = grant;
      for (int i = 0; i < times; ++i)
        victim.send(frame);
      victim.transport.abandon();
    });
  };
  CHECK(granting({.total = 99'999, .length = 10}, 1) ==
        "it expects 99999 bytes where 100000 bytes are sent");
  CHECK(granting({.total = 100'000, .length = 10, .is_tagged = true}, 1) ==
        "it asked for bytes in a way that was not agreed");
  // The first fails in the fabric: no such key.
  CHECK(mentions(Error(ErrorKind::remote, granting({.total = 100'000, .length = 10}, 1)),
                 "the fabric (wire on test): error 5"));
  std::vector<std::byte> at(1);
  Victim victim;
  FabricFrame twice = victim.frame(FabricFrameKind::message);
  twice.tag = {9};
  victim.send(twice);
  victim.send(twice);
  CHECK(mentions(victim.failure(), "it sent two messages where there is one"));
}

TEST_CASE("bytes that are asked for twice are refused") {
  Victim victim;
  std::vector<std::byte> memory(100'000);
  Outgoing mine{.peer = {0}, .tag = {6}, .bytes = memory};
  victim.transport.send(mine);
  FabricFrame frame = victim.frame(FabricFrameKind::grant);
  frame.tag = {6};
  frame.grant = {.total = 100'000, .length = 60'000, .is_tagged = true};
  victim.send(frame);
  CHECK_FALSE(victim.reports.failure);
  victim.send(frame);
  CHECK(mentions(victim.failure(), "it asked for bytes twice"));
}

TEST_CASE("a number that no piece has is ignored, because its sender is unknown") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data});
  FabricTransport transport({1}, 2, wire->endpoint());
  TransportReports reports;
  transport.open(reports);
  const auto other = wire->endpoint();
  std::byte target{};
  const auto registration = other->register_memory({&target, 1});
  fabric::OperationSpace operation;
  std::byte source{};
  other->write(0, {{&source, 1}, nullptr}, registration->place, fabric::WriteKind::with_data, 42,
               operation);
  transport.progress();
  CHECK(transport.strangers() == 1);
  CHECK_FALSE(reports.failure);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
