// Two ranks whose messages go by connections and a fabric: a stand-in for libfabric that fails when
// a test wants it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/transports/carried_network.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "comm/transports/tcp_transport.hpp"
#include "support/connect_in_process.hpp"
#include "support/fabric_in_process.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::test {

/// Opens endpoints of a wire at once, whose pieces are registered and not copied.
class WireSource final : public comm::TransportSource {
 public:
  static constexpr std::size_t kCopyLimit = 0;

  WireSource(std::shared_ptr<FabricWire> wire, comm::Rank self, int size)
      : wire_(std::move(wire)), self_(self), size_(size) {}

  void request() override {
    ++requests;
    if (refuses) return;
    opened_ = std::make_unique<comm::FabricTransport>(self_, size_, wire_->endpoint(), kCopyLimit);
  }
  bool is_busy() const override { return false; }
  std::unique_ptr<comm::MeetingTransport> take() override { return std::move(opened_); }

  int requests = 0;
  bool refuses = false;

 private:
  std::shared_ptr<FabricWire> wire_;
  comm::Rank self_;
  int size_;
  std::unique_ptr<comm::MeetingTransport> opened_;
};

constexpr comm::RetryTimes kSoonAgain{.first = std::chrono::milliseconds(20),
                                      .longest = std::chrono::milliseconds(160),
                                      .stable = std::chrono::seconds(10)};

/// One of two ranks.
struct HybridEnd {
  HybridEnd(int other, std::vector<UniqueFd> flows) : peer{other} {
    for (const UniqueFd& flow : flows)
      sockets_of_peer.push_back(flow.get());
    std::vector<std::vector<UniqueFd>> sockets(2);
    sockets[static_cast<std::size_t>(other)] = std::move(flows);
    transport.emplace(std::move(sockets), reports, reports, comm::Confirmation::of_frames);
  }

  void carry_by(std::unique_ptr<comm::FabricTransport> fabric,
                std::unique_ptr<WireSource> opener = nullptr, std::uint64_t number = 0) {
    auto carrier = std::make_unique<comm::FlowCarrier>(reports);
    fabric->open(*carrier);
    carrier->use(std::move(fabric));
    source = opener.get();
    transport->carry_by(number, std::move(carrier), std::move(opener), kSoonAgain);
  }

  void send(std::uint64_t tag, std::span<const std::byte> bytes) {
    outgoing.push_back({.peer = peer, .tag = {tag}, .bytes = bytes});
    transport->send(outgoing.back());
  }
  void receive(std::uint64_t tag, const comm::MessageSink& sink) {
    incoming.push_back({.peer = peer, .tag = {tag}, .sink = sink});
    transport->receive(incoming.back());
  }
  comm::LinkCounters link(const std::string& kind) const {
    for (const comm::LinkCounters& each : transport->links())
      if (each.name.starts_with(kind)) return each;
    return {};
  }

  comm::Rank peer;
  std::vector<int> sockets_of_peer;
  TransportReports reports;
  std::deque<comm::Outgoing> outgoing;
  std::deque<comm::Incoming> incoming;
  WireSource* source = nullptr;
  std::optional<comm::TcpTransport> transport;
};

struct HybridPair {
  using Connect = std::pair<UniqueFd, UniqueFd> (*)();

  explicit HybridPair(const WireTraits& traits = {}, int flows = 1, Connect connect = socket_pair)
      : wire(std::make_shared<FabricWire>(traits)) {
    std::vector<UniqueFd> of_a;
    std::vector<UniqueFd> of_b;
    for (int i = 0; i < flows; ++i) {
      auto [near, far] = connect();
      of_a.push_back(std::move(near));
      of_b.push_back(std::move(far));
    }
    a.emplace(1, std::move(of_a));
    b.emplace(0, std::move(of_b));
    std::vector<std::unique_ptr<comm::FabricTransport>> fabrics;
    for (int r = 0; r < 2; ++r)
      fabrics.push_back(
          std::make_unique<comm::FabricTransport>(comm::Rank{r}, 2, wire->endpoint()));
    REQUIRE(fabrics[0]->connect({1}, fabrics[1]->card()));
    REQUIRE(fabrics[1]->connect({0}, fabrics[0]->card()));
    a->carry_by(std::move(fabrics[0]), std::make_unique<WireSource>(wire, comm::Rank{0}, 2));
    b->carry_by(std::move(fabrics[1]), std::make_unique<WireSource>(wire, comm::Rank{1}, 2));
    settle();
  }

  /// Moves what moves by itself.
  void settle() {
    for (int quiet = 0; quiet < 100; ++quiet)
      if (int(a->transport->progress()) + int(b->transport->progress()) > 0) quiet = 0;
  }

  template <class Condition>
  bool settle_until(const Condition& condition,
                    std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const comm::Deadline deadline(limit);
    while (!condition() && !deadline.passed())
      settle();
    return condition();
  }

  /// Breaks the fabric while it carries a message, and waits until both ends have counted that.
  void fail_once();
  /// Waits until both ends use the fabric, after so many failures.
  void check_use_again(std::uint64_t times = 1);

  std::shared_ptr<FabricWire> wire;
  std::optional<HybridEnd> a;
  std::optional<HybridEnd> b;
};

inline std::vector<float> counted_up(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

/// A message each way, reduced at one end.
struct HybridExchange {
  explicit HybridExchange(HybridPair& ends, std::size_t count)
      : pair(ends), values(counted_up(count)) {
    const auto tag = static_cast<std::uint64_t>(before + 1);
    pair.a->send(tag, std::as_bytes(std::span(values)));
    pair.b->send(tag, std::as_bytes(std::span(values)));
    pair.b->receive(
        tag, {.memory = std::as_writable_bytes(std::span(sums)),
              .reduction = comm::Reduction{comm::ElementType::float32, comm::ReduceOp::sum}});
    pair.a->receive(tag, {.memory = std::as_writable_bytes(std::span(got))});
  }

  void progress(int turns) const {
    for (int turn = 0; turn < turns; ++turn) {
      pair.a->transport->progress();
      pair.b->transport->progress();
    }
  }

  bool is_done() const {
    return pair.a->reports.received_messages == before + 1 &&
           pair.b->reports.received_messages == before + 1 &&
           pair.a->reports.sent_messages == before + 1 &&
           pair.b->reports.sent_messages == before + 1;
  }

  void check() {
    CHECK(pair.settle_until([&] { return is_done(); }));
    CHECK(pair.a->reports.loss() == "");
    CHECK(pair.b->reports.loss() == "");
    CHECK(got == values);
    CHECK(std::ranges::equal(sums, values,
                             [](float sum, float value) { return sum == value + value; }));
  }

  HybridPair& pair;
  int before = pair.a->reports.sent_messages;
  std::vector<float> values;
  std::vector<float> sums = values;
  std::vector<float> got = std::vector<float>(values.size());
};

inline void HybridPair::fail_once() {
  const auto failures = [&] {
    return std::min(a->link("fabric").failures, b->link("fabric").failures);
  };
  const std::uint64_t before = failures();
  wire->is_broken = true;
  HybridExchange(*this, 100'003).check();
  CHECK(settle_until([&] { return failures() == before + 1; }));
  CHECK(a->link("fabric").connections == 0);
  CHECK(b->link("fabric").connections == 0);
}

inline void HybridPair::check_use_again(std::uint64_t times) {
  CHECK(settle_until(
      [&] { return a->link("fabric").connections == 1 && b->link("fabric").connections == 1; }));
  settle();
  for (const HybridEnd* end : {&*a, &*b}) {
    CHECK(end->link("fabric").reconnects == times);
    CHECK(end->link("fabric").failures == times);
    CHECK(end->link("tcp").connections == 1);
    const std::string other = std::to_string(end->peer.value);
    CHECK(end->reports.warnings.back() ==
          "the fabric wire test is used again on the way to rank " + other);
  }
  const std::uint64_t carried = a->link("fabric").bytes_sent;
  HybridExchange(*this, 1'000'003).check();
  CHECK(a->link("fabric").bytes_sent > carried);
}

}  // namespace fastgpu::test
