// The frames of a flow that another transport carries.
#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/transports/carried_flow.hpp"
#include "comm/transports/flow_carrier.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// A carrier that keeps what it is given, for tests of one flow.
class KeptMessages final : public Transport {
 public:
  explicit KeptMessages(TransportEvents& events) : events_(events) {}

  TransportCapabilities capabilities() const noexcept override { return {}; }
  bool reaches(Rank) const noexcept override { return true; }
  void send(Outgoing& message) override { events_.sent(message); }
  void receive(Incoming&) override {}
  bool progress() override { return false; }
  bool may_sleep() override { return true; }
  bool is_quiet() const noexcept override { return true; }
  void abandon() noexcept override {}
  std::vector<LinkCounters> links() const override { return {{.name = "kept"}}; }

 private:
  TransportEvents& events_;
};

TEST_SUITE_BEGIN("comm/carried_flow");

TEST_CASE("as many frames are under way as the peer confirms in a short time") {
  test::TransportReports reports;
  FlowCarrier carrier(reports);
  carrier.use(std::make_unique<KeptMessages>(carrier));
  LinkCounters link;
  CarriedFlow flow({1}, carrier, link);
  const std::vector<std::byte> bytes(100);
  Outgoing owner;
  const auto fill = [&] {
    std::size_t frames = 0;
    for (; flow.has_room(); ++frames) {
      flow.begin({.kind = TcpFrameKind::chunk, .length = 100, .total = 100}, bytes, &owner);
      REQUIRE(flow.write());
    }
    return frames;
  };
  // Confirmed at once: the window grows.
  std::size_t sent = fill();
  const std::size_t first = sent;
  for (int i = 0; i < 100; ++i) {
    flow.confirmed(sent);
    sent = fill();
  }
  CHECK(sent > first);
  CHECK(sent <= 16);
  // Confirmed late: it shrinks, but never to nothing.
  for (int i = 0; i < 20; ++i) {
    const Deadline late(13ms);
    while (!late.passed()) {
    }
    flow.confirmed(sent);
    sent = fill();
  }
  CHECK(sent == 4);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
