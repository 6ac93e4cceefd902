#include "comm/rendezvous/connections.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {
namespace {

/// Length of the address, flows (0 for the usual number), transport, address.
constexpr std::size_t kHead = 3;
constexpr std::size_t kIntroduction = kHead + 255;
using Introduction = std::array<std::byte, kIntroduction>;

std::unique_ptr<SharedMemoryTransport> shared_memory_transport(const Connections& connections,
                                                               SharedMemory wanted) {
  if (wanted == SharedMemory::off) return nullptr;
  try {
    return std::make_unique<SharedMemoryTransport>(connections.rank, connections.size);
  } catch (const Error&) {
    return nullptr;  // This host has no memory to share: sockets are used.
  }
}

/// A round of fixed messages to and from every other rank. They fit into any socket's buffer, so
/// that all may send before any receives.
class Round {
 public:
  Round(const Connections& connections, Deadline deadline)
      : connections_(connections), deadline_(deadline) {}

  template <class Message, class Take>
  void exchange(const std::vector<Message>& out, Take take) {
    for_others([&](int socket, std::size_t r) { send_all(socket, out[r], deadline_); });
    for_others([&](int socket, std::size_t r) {
      Message in;
      receive_all(socket, in, deadline_);
      take(r, in);
    });
  }

 private:
  template <class Action>
  void for_others(Action action) {
    for (std::size_t r = 0; r < connections_.sockets.size(); ++r) {
      if (connections_.sockets[r].empty()) continue;
      try {
        action(connections_.sockets[r].front().get(), r);
      } catch (const Error& e) {
        throw e.during("rank " + std::to_string(connections_.rank.value) + " meeting rank " +
                       std::to_string(r));
      }
    }
  }

  const Connections& connections_;
  Deadline deadline_;
};

Introduction introduction_of(const SharedMemoryTransport* shared, const Wishes& wishes) {
  Introduction mine{};
  mine[1] = static_cast<std::byte>(wishes.flows.value_or(0));
  mine[2] = static_cast<std::byte>(wishes.transport);
  if (shared == nullptr) return mine;
  const auto address = shared->address();
  mine[0] = static_cast<std::byte>(address.size());
  std::ranges::copy(address, mine.begin() + kHead);
  return mine;
}

/// Groups the ranks: those with the same lowest rank in reach are on the same node.
Topology exchange_topology(const Connections& connections, Round& round) {
  using Lowest = std::array<std::byte, sizeof(std::uint32_t)>;
  const auto ranks = static_cast<std::size_t>(connections.size);
  std::uint32_t lowest = 0;
  const auto is_near = [&](std::uint32_t r) {
    const Rank rank{static_cast<int>(r)};
    return rank == connections.rank || (connections.shared && connections.shared->reaches(rank));
  };
  while (!is_near(lowest))
    ++lowest;
  Lowest mine{};
  WireWriter(mine).put(lowest);
  std::map<std::uint32_t, std::vector<Rank>> nodes;
  nodes[lowest].push_back(connections.rank);
  round.exchange(std::vector(ranks, mine), [&](std::size_t r, const Lowest& theirs) {
    nodes[WireReader(theirs).get<std::uint32_t>()].push_back({static_cast<int>(r)});
  });
  Topology topology;
  for (auto& [first, members] : nodes) {
    std::ranges::sort(members);
    topology.nodes.push_back(std::move(members));
  }
  return topology;
}

}  // namespace

int usual_flows(const Topology& topology, Rank one, Rank other) {
  std::size_t ranks = 1;
  for (const std::vector<Rank>& members : topology.nodes)
    if (std::ranges::binary_search(members, one) || std::ranges::binary_search(members, other))
      ranks = std::max(ranks, members.size());
  return std::max(1, kUsualFlows / static_cast<int>(ranks));
}

std::vector<int> introduce(Connections& connections, const Wishes& wishes, Deadline deadline) {
  using Answer = std::array<std::byte, 1>;
  const auto ranks = static_cast<std::size_t>(connections.size);
  auto shared = shared_memory_transport(connections, wishes.shared_memory);
  std::vector<int> wished(ranks, 0);
  std::vector<Answer> answers(ranks, Answer{});

  Round round(connections, deadline);
  const Introduction mine = introduction_of(shared.get(), wishes);
  round.exchange(std::vector(ranks, mine), [&](std::size_t r, const Introduction& theirs) {
    const auto length = std::to_integer<std::size_t>(theirs[0]);
    const auto address = std::span(theirs).subspan(kHead, length);
    const Rank rank{static_cast<int>(r)};
    if (theirs[2] != mine[2])
      throw Error(ErrorKind::usage, "rank " + std::to_string(r) +
                                        " has another FASTGPU_COMM_TRANSPORT: all ranks need the "
                                        "same");
    if (shared && length > 0 && shared->connect(rank, address)) answers[r] = {std::byte{1}};
    wished[r] = std::to_integer<int>(theirs[1]);
  });
  round.exchange(answers, [&](std::size_t r, const Answer& theirs) {
    const Rank rank{static_cast<int>(r)};
    if (!shared || !shared->reaches(rank)) return;
    if (theirs != Answer{std::byte{1}}) shared->disconnect(rank);
  });
  connections.shared = std::move(shared);
  connections.topology = exchange_topology(connections, round);
  std::vector<int> flows(ranks, 1);
  for (std::size_t r = 0; r < ranks; ++r) {
    const Rank rank{static_cast<int>(r)};
    if (rank == connections.rank) continue;
    if (connections.shared && connections.shared->reaches(rank)) continue;
    const int usual = usual_flows(connections.topology, connections.rank, rank);
    const int theirs = wished[r] == 0 ? usual : wished[r];
    flows[r] = std::min(wishes.flows.value_or(usual), theirs);
  }
  return flows;
}

}  // namespace fastgpu::comm
