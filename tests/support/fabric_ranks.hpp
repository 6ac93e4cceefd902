// Ranks that are threads or driven by the test, connected by a stand-in for libfabric.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "support/connect_in_process.hpp"
#include "support/fabric_in_process.hpp"
#include "support/run_ranks.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::test {

inline void connect_all(std::vector<std::unique_ptr<comm::FabricTransport>>& transports) {
  for (std::size_t a = 0; a < transports.size(); ++a)
    for (std::size_t b = 0; b < transports.size(); ++b)
      if (a != b)
        REQUIRE(transports[a]->connect({static_cast<int>(b)},
                                       comm::fabric::decode_card(encode(transports[b]->card()))));
}

inline std::vector<comm::Communicator> communicators_by(
    const std::shared_ptr<FabricWire>& wire, int size,
    std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  auto connections = sockets_in_process(size, timeout);
  run_ranks(connections, [](comm::Connections& rank) {
    introduce(rank, {.shared_memory = comm::SharedMemory::off, .flows = 1},
              comm::Deadline(std::chrono::seconds(20)));
  });
  std::vector<std::unique_ptr<comm::FabricTransport>> transports;
  for (const comm::Connections& rank : connections)
    transports.push_back(
        std::make_unique<comm::FabricTransport>(rank.rank, size, wire->endpoint()));
  connect_all(transports);
  std::vector<comm::Communicator> ranks;
  for (std::size_t r = 0; r < connections.size(); ++r) {
    connections[r].fabric = std::move(transports[r]);
    ranks.emplace_back(std::move(connections[r]));
  }
  return ranks;
}

/// Every way of putting, with every demand that a provider may make.
inline std::vector<WireTraits> all_wires() {
  std::vector<WireTraits> all;
  for (const comm::fabric::Put put : comm::fabric::kPuts)
    for (const bool needs_local : {false, true})
      for (const bool has_addresses : {false, true})
        all.push_back({.put = put,
                       .needs_local = needs_local,
                       .has_addresses = has_addresses,
                       .inject_bytes = has_addresses ? 0U : 64U});
  return all;
}

/// Two ranks that the test drives itself.
struct FabricPair {
  explicit FabricPair(const WireTraits& traits = {}, std::optional<std::size_t> copy_limit = {})
      : wire(std::make_shared<FabricWire>(traits)) {
    for (int r = 0; r < 2; ++r)
      ranks.push_back(
          std::make_unique<comm::FabricTransport>(comm::Rank{r}, 2, wire->endpoint(), copy_limit));
    connect_all(ranks);
    for (std::size_t r = 0; r < 2; ++r)
      ranks[r]->open(reports[r]);
  }

  /// Sends a message from rank 0 to rank 1, and returns whether it came as it was.
  bool brings(std::uint64_t tag, std::size_t bytes) {
    const std::vector<std::byte> out(bytes, static_cast<std::byte>(tag + 1));
    std::vector<std::byte> in(bytes);
    comm::Outgoing sent{.peer = {1}, .tag = {tag}, .bytes = out};
    comm::Incoming received{.peer = {0}, .tag = {tag}, .sink = {.memory = in}};
    const int before = reports[1].received_messages;
    ranks[0]->send(sent);
    ranks[1]->receive(received);
    for (int i = 0; i < 100 && reports[1].received_messages == before; ++i)
      progress();
    progress();
    return in == out && sent.moved == bytes;
  }

  void progress(int turns = 20) const {
    for (int i = 0; i < turns; ++i)
      for (const auto& rank : ranks)
        if (rank) rank->progress();
  }

  std::shared_ptr<FabricWire> wire;
  TransportReports reports[2];
  std::vector<std::unique_ptr<comm::FabricTransport>> ranks;
};

}  // namespace fastgpu::test
