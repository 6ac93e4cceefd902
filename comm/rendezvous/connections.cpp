#include "comm/rendezvous/connections.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/counted.hpp"
#include "base/descriptors.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/wire.hpp"
#include "comm/fabric/card.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/rendezvous/fabric_source.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/round.hpp"
#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {
namespace {

/// Length of the address in shared memory, flows (0 for the usual number), transport, whether the
/// rank would measure its networks (or kFailed: then the reason is in place of the address),
/// algorithm (0 if none is named), library of collectives,
/// address; length of the card for the fabric, card; number of
/// further networks, addresses there; number of further devices of fabrics, and for each the length
/// of its card, card.
constexpr std::size_t kHead = 6;
constexpr std::size_t kMaxAddress = 255;
constexpr std::size_t kCard = kHead + kMaxAddress;
constexpr std::size_t kFurther = kCard + 1 + fabric::kMaxCard;
constexpr std::size_t kDevices = kFurther + 1 + (kMostInterfaces - 1) * kEndpointBytes;
constexpr std::size_t kCardRoom = 1 + fabric::kMaxCard;
constexpr std::size_t kIntroduction = kDevices + 1 + (fabric::kMostDevices - 1) * kCardRoom;
using Introduction = std::array<std::byte, kIntroduction>;
constexpr std::byte kFailed{2};

/// An answer has a bit for each way in which a rank can be reached.
using Answer = std::array<std::byte, 1>;
constexpr std::byte kByMemory{1};
constexpr std::byte kByFabric{2};  ///< The first; those of further devices have the next bits.

std::unique_ptr<SharedMemoryTransport> shared_memory_transport(const Connections& connections,
                                                               SharedMemory wanted) {
  if (wanted == SharedMemory::off) return nullptr;
  try {
    return std::make_unique<SharedMemoryTransport>(connections.rank, connections.size);
  } catch (const Error&) {
    return nullptr;  // This host has no memory to share: sockets are used.
  }
}

struct FabricAttempt {
  std::unique_ptr<FabricTransport> transport{};
  std::string lack{};  ///< That of fabric::OpenedEndpoint.
};

FabricAttempt fabric_transport(const Connections& connections,
                               const fabric::FabricSettings& settings, const Wishes& wishes) try {
  auto opened =
      fabric::open_endpoint(settings, {connections.size, wishes.near, connections.rank.value});
  if (!opened.endpoint) return {.lack = std::move(opened.lack)};
  auto made = std::make_unique<FabricTransport>(connections.rank, connections.size,
                                                std::move(opened.endpoint));
  if (settings.gpudirect == fabric::GpuDirect::off) made->forbid_device_memory();
  return {std::move(made), std::move(opened.lack)};
} catch (const Error& e) {
  throw e.during("rank " + std::to_string(connections.rank.value));
}

/// The ways to ranks that are tried: shared memory, and a fabric for each device. Null: none.
struct TriedWays {
  std::unique_ptr<SharedMemoryTransport> shared{};
  FabricAttempt first{};
  std::vector<std::unique_ptr<FabricTransport>> further{};

  /// Returns the fabrics by number of their device.
  std::vector<FabricTransport*> fabrics() const {
    std::vector<FabricTransport*> all{first.transport.get()};
    for (const auto& each : further)
      all.push_back(each.get());
    return all;
  }
};

TriedWays open_ways(const Connections& connections, const Wishes& wishes) {
  TriedWays ways{.shared = shared_memory_transport(connections, wishes.shared_memory),
                 .first = fabric_transport(connections, wishes.fabric, wishes)};
  fabric::FabricSettings settings = wishes.fabric;
  for (const std::string& device : wishes.fabric.further_devices) {
    settings.device = device;
    ways.further.push_back(fabric_transport(connections, settings, wishes).transport);
  }
  return ways;
}

void keep(Connections& connections, TriedWays&& ways) {
  connections.shared = std::move(ways.shared);
  connections.fabric = std::move(ways.first.transport);
  for (std::size_t i = 0; i < ways.further.size(); ++i)
    if (ways.further[i])
      connections.further_fabrics.push_back({i + 1, std::move(ways.further[i]), nullptr});
}

/// Puts the length of some bytes at one place, and the bytes at another.
void put(Introduction& into, std::size_t length_at, std::size_t bytes_at,
         std::span<const std::byte> bytes) {
  into[length_at] = static_cast<std::byte>(bytes.size());
  std::ranges::copy(bytes, into.begin() + static_cast<std::ptrdiff_t>(bytes_at));
}

std::span<const std::byte> bytes_in(const Introduction& from, std::size_t length_at,
                                    std::size_t bytes_at) {
  return std::span(from).subspan(bytes_at, std::to_integer<std::size_t>(from[length_at]));
}

/// Returns the place of the length of a device's card.
std::size_t place_of_card(std::size_t device) {
  return device == 0 ? kCard : kDevices + 1 + (device - 1) * kCardRoom;
}

std::span<const std::byte> card_in(const Introduction& from, std::size_t device) {
  return bytes_in(from, place_of_card(device), place_of_card(device) + 1);
}

Introduction introduction_of(const TriedWays& ways, const Wishes& wishes) {
  Introduction mine{};
  mine[1] = static_cast<std::byte>(wishes.flows.value_or(0));
  mine[2] = static_cast<std::byte>(wishes.transport);
  mine[3] = static_cast<std::byte>(wishes.may_measure);
  mine[4] = static_cast<std::byte>(wishes.algorithm ? 1 + static_cast<int>(*wishes.algorithm) : 0);
  mine[5] = static_cast<std::byte>(wishes.collectives);
  if (ways.shared) put(mine, 0, kHead, ways.shared->address());
  const auto fabrics = ways.fabrics();
  mine[kDevices] = static_cast<std::byte>(ways.further.size());
  for (std::size_t device = 0; device < fabrics.size(); ++device) {
    const std::size_t place = place_of_card(device);
    if (fabrics[device] != nullptr) put(mine, place, place + 1, fabrics[device]->own_card());
  }
  mine[kFurther] = static_cast<std::byte>(wishes.further.size());
  auto place = mine.begin() + kFurther + 1;
  for (const Endpoint& address : wishes.further)
    place = std::ranges::copy(encode(address), place).out;
  return mine;
}

/// Returns the introduction of a rank that cannot go on, which has the reason.
Introduction farewell_of(const Error& reason) {
  Introduction mine{};
  mine[3] = kFailed;
  const std::string text = std::string(reason.what()).substr(0, kMaxAddress);
  put(mine, 0, kHead, std::as_bytes(std::span(text)));
  return mine;
}

/// Throws remote if this is the introduction of a rank that cannot go on.
void check_has_come(const Introduction& theirs, Rank rank) {
  if (theirs[3] != kFailed) return;
  const auto reason = bytes_in(theirs, 0, kHead);
  const std::string text(reinterpret_cast<const char*>(reason.data()), reason.size());
  throw Error(ErrorKind::remote,
              printable(text, kMaxAddress) + " (rank " + std::to_string(rank.value) + " says so)");
}

/// Returns a rank's addresses on further networks. Throws usage if they are not as many as this
/// rank's.
std::vector<Endpoint> further_in(const Introduction& theirs, Rank rank,
                                 const std::vector<Endpoint>& mine) {
  const auto count = std::to_integer<std::size_t>(theirs[kFurther]);
  if (count != mine.size())
    throw Error(ErrorKind::usage,
                "rank " + std::to_string(rank.value) + " has " + counted(count + 1, "interface") +
                    " in FASTGPU_COMM_INTERFACE, and this one " + std::to_string(mine.size() + 1) +
                    ": all ranks need the same number");
  std::vector<Endpoint> addresses;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bytes = std::span(theirs).subspan(kFurther + 1 + i * kEndpointBytes, kEndpointBytes);
    auto address = decode_endpoint(bytes);
    if (!address || address->family != mine[i].family)
      throw Error(ErrorKind::usage, "rank " + std::to_string(rank.value) +
                                        " has no usable address on interface number " +
                                        std::to_string(i + 2) + " of FASTGPU_COMM_INTERFACE");
    if (address->is_link_local()) address->zone = mine[i].zone;
    addresses.push_back(*address);
  }
  return addresses;
}

/// Throws usage if a rank has another value of a variable that all ranks need to have alike.
void check_shared_wishes(const Introduction& theirs, Rank rank, const Introduction& mine) {
  constexpr std::pair<std::size_t, const char*> kShared[] = {{2, "FASTGPU_COMM_TRANSPORT"},
                                                             {4, "FASTGPU_COMM_ALGORITHM"},
                                                             {5, "FASTGPU_COMM_COLLECTIVES"}};
  for (const auto& [place, name] : kShared)
    if (theirs[place] != mine[place])
      throw Error(ErrorKind::usage, "rank " + std::to_string(rank.value) + " has another " + name +
                                        ": all ranks need the same");
}

/// Throws usage if a rank has not named as many devices as this one.
void check_devices(const Introduction& theirs, Rank rank, std::size_t mine) {
  const auto count = std::to_integer<std::size_t>(theirs[kDevices]);
  if (count == mine) return;
  throw Error(ErrorKind::usage, "rank " + std::to_string(rank.value) + " has " +
                                    counted(count + 1, "device") +
                                    " in FASTGPU_COMM_FABRIC_DEVICE, and this one " +
                                    std::to_string(mine + 1) + ": all ranks need the same number");
}

/// Connects to the rank with that introduction in each way that is possible, and returns these.
std::byte connect(Rank rank, const Introduction& theirs, const TriedWays& tried) {
  std::byte ways{};
  const auto address = bytes_in(theirs, 0, kHead);
  if (tried.shared && !address.empty() && tried.shared->connect(rank, address)) ways |= kByMemory;
  const auto fabrics = tried.fabrics();
  for (std::size_t device = 0; device < fabrics.size(); ++device) {
    const auto card = card_in(theirs, device);
    if (fabrics[device] != nullptr && !card.empty() &&
        fabrics[device]->connect(rank, fabric::decode_card(card)))
      ways |= kByFabric << device;
  }
  return ways;
}

/// Gives up the ways that the other side does not have, and fabrics where memory is shared.
/// Returns whether a way is left.
bool agree(Rank rank, std::byte ways, const TriedWays& tried) {
  const bool by_memory = (ways & kByMemory) != std::byte{};
  if (!by_memory && tried.shared && tried.shared->reaches(rank)) tried.shared->disconnect(rank);
  const auto fabrics = tried.fabrics();
  for (std::size_t device = 0; device < fabrics.size(); ++device) {
    const bool by_fabric = !by_memory && (ways & (kByFabric << device)) != std::byte{};
    if (!by_fabric && fabrics[device] != nullptr) fabrics[device]->disconnect(rank);
  }
  return ways != std::byte{};
}

/// Returns the provider of a rank's fabric, or "none".
std::string provider_in(const Introduction& theirs) {
  const auto card = card_in(theirs, 0);
  return card.empty() ? "none" : fabric::decode_card(card).provider;
}

std::string provider_of(const FabricTransport* fabric) {
  return fabric == nullptr ? "none" : fabric->traits().provider;
}

/// Returns the kind of an address of IP: libfabric has them as sockaddr_in and sockaddr_in6.
std::string kind_of_address(std::size_t bytes) {
  if (bytes == sizeof(sockaddr_in)) return "IPv4";
  if (bytes == sizeof(sockaddr_in6)) return "IPv6";
  return counted(bytes, "byte");
}

/// The reason for which no fabric connects two ranks, and the remedy.
struct Mismatch {
  std::string reason{};
  std::string remedy = "Set the same FASTGPU_COMM_FABRIC for all ranks";
};

Mismatch mismatch_of(const FabricTransport* fabric, const Introduction& theirs) {
  const std::string there = provider_in(theirs);
  const std::string here = provider_of(fabric);
  const Mismatch providers{.reason = there + " there, " + here + " here"};
  if (there != here || fabric == nullptr) return providers;
  const std::size_t theirs_has = fabric::decode_card(card_in(theirs, 0)).address.size();
  const std::size_t ours_has = fabric->card().address.size();
  if (theirs_has == ours_has) return providers;
  return {here + " has addresses of two kinds, " + kind_of_address(theirs_has) + " there, " +
              kind_of_address(ours_has) + " here",
          "Name devices with addresses of one kind by FASTGPU_COMM_FABRIC_DEVICE"};
}

/// Throws, on both sides, where a fabric is a must and two ranks have none together.
void check_fabric(const Wishes& wishes, Rank rank, const FabricTransport* fabric,
                  const Introduction& theirs) {
  if (wishes.fabric.need != fabric::FabricNeed::must) return;
  const std::string wanted = wishes.transport == NetworkTransport::hybrid ? "hybrid" : "fabric";
  const Mismatch mismatch = mismatch_of(fabric, theirs);
  throw Error(ErrorKind::usage, "FASTGPU_COMM_TRANSPORT is '" + wanted + "', but rank " +
                                    std::to_string(rank.value) +
                                    " is not reached by one: " + mismatch.reason + ". " +
                                    mismatch.remedy + ", or FASTGPU_COMM_TRANSPORT=tcp");
}

/// Returns why this machine's RDMA device does not carry the messages to a rank that is reached by
/// TCP; empty if there is no such device.
std::string reason_for_tcp(Rank rank, const FabricAttempt& fabric, const Introduction& theirs) {
  if (!fabric.transport) return fabric.lack;
  if (!fabric.transport->traits().is_hardware) return {};
  return "rank " + std::to_string(rank.value) + " has no matching fabric (" +
         mismatch_of(fabric.transport.get(), theirs).reason + ")";
}

/// A network that carries messages in place of an RDMA device, and the variable that asks for it.
struct Substitute {
  std::string name = "TCP";
  std::string wish = "FASTGPU_COMM_TRANSPORT=tcp";
};

/// Returns the report on a network that is slower than the machine's best; empty without a reason.
/// One rank of a node makes it.
std::string report_of_slow_network(const Connections& connections, const Substitute& carrier,
                                   const std::string& reason) {
  const auto is_first = [&](const std::vector<Rank>& node) {
    return node.front() == connections.rank;
  };
  if (reason.empty() || std::ranges::none_of(connections.topology.nodes, is_first)) return {};
  return "rank " + std::to_string(connections.rank.value) +
         ": its machine has an RDMA device, but " + carrier.name +
         " carries messages to other machines: " + reason +
         ". FASTGPU_COMM_REQUIRE=fabric makes this an error, " + carrier.wish +
         " is without this message";
}

/// Returns the report on TCP, or on a fabric in software; both reasons may be empty.
std::string network_report(const Connections& connections, const std::string& reason_for_tcp,
                           const std::string& reason_for_software) {
  if (reason_for_software.empty() || connections.topology.nodes.size() < 2)
    return report_of_slow_network(connections, {}, reason_for_tcp);
  const std::string provider = provider_of(connections.fabric.get());
  return report_of_slow_network(connections, {provider, "FASTGPU_COMM_FABRIC=" + provider},
                                reason_for_software);
}

bool is_by_fabric(const Connections& connections, Rank rank) {
  return (connections.fabric && connections.fabric->reaches(rank)) ||
         std::ranges::any_of(connections.further_fabrics, [&](const FurtherFabric& further) {
           return further.fabric->reaches(rank);
         });
}

/// Throws ErrorKind::capacity if a fabric is required, and does not reach a rank that shares no
/// memory with this one. `software` is empty, or says why a fabric without a device was taken,
/// which the user has not named.
void check_requirement(const Connections& connections, const Wishes& wishes,
                       const std::string& reason, const std::string& software) {
  if (!wishes.fabric.is_required) return;
  for (Rank rank{0}; rank.value < connections.size; ++rank.value) {
    if (rank == connections.rank) continue;
    if (connections.shared && connections.shared->reaches(rank)) continue;
    if (!software.empty())
      throw Error(ErrorKind::capacity,
                  "rank " + std::to_string(connections.rank.value) +
                      ": FASTGPU_COMM_REQUIRE is 'fabric', but only " +
                      provider_of(connections.fabric.get()) +
                      ", which uses no such device, carries messages to rank " +
                      std::to_string(rank.value) + ": " + software);
    if (is_by_fabric(connections, rank)) continue;
    throw Error(ErrorKind::capacity, "rank " + std::to_string(connections.rank.value) +
                                         ": FASTGPU_COMM_REQUIRE is 'fabric', but none carries "
                                         "messages to rank " +
                                         std::to_string(rank.value) +
                                         (reason.empty() ? "" : ": " + reason));
  }
}

/// Returns whether the user has named what is to carry messages.
bool is_asked_for(const Wishes& wishes) {
  return wishes.fabric.need == fabric::FabricNeed::must || !wishes.fabric.provider.empty();
}

/// The time in which a fabric must carry the first frames; after it TCP is used, if it may be.
constexpr auto kMeetTimeout = std::chrono::seconds(20);

/// Returns the advice for one of `ranks` that finds no answer by its fabric, which matches.
/// Providers open a file for each connection, or more, and close those of a connection that failed.
std::string advice_for_silence(std::size_t ranks) {
  if (free_descriptors() < ranks)
    return "; its connections may need more open files than this process may have: run `ulimit -n "
           "65536`";
  return "; check that the security group and the switches let it through";
}

/// Exchanges the first frames by the fabric. What fails on one side is given up on both, which
/// `failed` gets with the reason.
void meet_by_fabric(FabricTransport* fabric, std::size_t ranks, Round& round, Deadline deadline,
                    const std::function<void(Rank, const std::string&)>& failed) {
  std::map<Rank, std::string> failures;
  if (fabric != nullptr) failures = fabric->meet(within(deadline, kMeetTimeout));
  std::vector<Answer> is_met(ranks, Answer{});
  for (std::size_t r = 0; r < ranks; ++r)
    is_met[r].front() = std::byte{!failures.contains({static_cast<int>(r)})};
  round.exchange(is_met, [&](std::size_t r, const Answer& theirs) {
    const Rank rank{static_cast<int>(r)};
    const bool is_met_there = theirs.front() != std::byte{};
    if (is_met_there && !failures.contains(rank)) return;
    if (fabric != nullptr) fabric->disconnect(rank);
    failed(rank,
           (failures.contains(rank) ? failures.at(rank) : "it has heard nothing from this rank") +
               advice_for_silence(ranks));
  });
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

/// Returns at least `flows`, with as many on each network.
int whole_rounds(int flows, int networks) {
  return (flows + networks - 1) / networks * networks;
}

/// Returns whether messages go by several devices of fabrics in place of sockets; the same on all
/// ranks.
bool takes_several_devices(const Wishes& wishes) {
  const bool is_by_fabric = wishes.transport == NetworkTransport::fabric ||
                            wishes.transport == NetworkTransport::automatic;
  return is_by_fabric && !wishes.fabric.further_devices.empty();
}

/// Returns the number of sockets to each rank: one where another transport carries the data, and
/// within a host, where what is under way stays in the caches.
std::vector<int> flows_of(const Connections& connections, const Wishes& wishes,
                          const std::vector<int>& wished) {
  std::vector<int> flows(wished.size(), 1);
  for (std::size_t r = 0; r < flows.size(); ++r) {
    const Rank rank{static_cast<int>(r)};
    if (rank == connections.rank) continue;
    if (connections.shared && connections.shared->reaches(rank)) continue;
    const bool is_for_notices = !connections.is_hybrid || connections.are_sockets_spared;
    if (is_by_fabric(connections, rank) && is_for_notices) continue;
    const bool is_alone = !connections.is_hybrid && wishes.further.empty();
    const int usual = is_alone && is_within_host(connections.sockets[r].front().get())
                          ? 1
                          : usual_flows(connections.topology, connections.rank, rank);
    const int theirs = wished[r] == 0 ? usual : wished[r];
    flows[r] = whole_rounds(std::min(wishes.flows.value_or(usual), theirs),
                            static_cast<int>(wishes.further.size()) + 1);
  }
  return flows;
}

/// Opens the ways as open_ways does. On failure it sends the reason to the other ranks, and then
/// throws.
TriedWays open_ways_or_tell(const Connections& connections, const Wishes& wishes, Round& round) {
  try {
    return open_ways(connections, wishes);
  } catch (const Error& e) {
    try {
      const auto ranks = static_cast<std::size_t>(connections.size);
      round.exchange(std::vector(ranks, farewell_of(e)), [](std::size_t, const Introduction&) {});
    } catch (const Error&) {  // Others may have gone as well.
      throw e;
    }
    throw;
  }
}

/// Returns what all ranks say of themselves, by rank. All are read before one is refused: a socket
/// that is closed with bytes in it takes what was sent over it along.
std::vector<Introduction> exchange_introductions(Round& round, std::size_t ranks,
                                                 const Introduction& mine) {
  std::vector<Introduction> all(ranks);
  round.exchange(std::vector(ranks, mine),
                 [&](std::size_t r, const Introduction& theirs) { all[r] = theirs; });
  round.for_others([&](std::size_t r) { check_has_come(all[r], {static_cast<int>(r)}); });
  return all;
}

}  // namespace

fabric::FabricSettings settings_of_fabric(const FabricTransport& fabric, const Wishes& wishes) {
  fabric::FabricSettings settings = wishes.fabric;
  settings.need = fabric::FabricNeed::must;
  settings.provider = fabric.traits().provider;
  settings.device = fabric.traits().device;
  return settings;
}

int usual_flows(const Topology& topology, Rank one, Rank other) {
  std::size_t ranks = 1;
  for (const std::vector<Rank>& members : topology.nodes)
    if (std::ranges::binary_search(members, one) || std::ranges::binary_search(members, other))
      ranks = std::max(ranks, members.size());
  return std::max(1, kUsualFlows / static_cast<int>(ranks));
}

FurtherSockets introduce(Connections& connections, const Wishes& wishes, Deadline deadline) {
  const auto ranks = static_cast<std::size_t>(connections.size);
  Round round(connections.rank, connections.sockets, deadline);
  TriedWays ways = open_ways_or_tell(connections, wishes, round);
  std::vector<Answer> answers(ranks, Answer{});
  FurtherSockets sockets{.flows = {},
                         .addresses = std::vector<std::vector<Endpoint>>(ranks),
                         .wished = std::vector<int>(ranks, 0),
                         .may_measure = std::vector<bool>(ranks)};
  std::string reason;  // The first rank's by TCP.

  const Introduction mine = introduction_of(ways, wishes);
  const std::vector<Introduction> introductions = exchange_introductions(round, ranks, mine);
  round.for_others([&](std::size_t r) {
    const Introduction& theirs = introductions[r];
    check_shared_wishes(theirs, {static_cast<int>(r)}, mine);
    check_devices(theirs, {static_cast<int>(r)}, ways.further.size());
    answers[r] = {connect({static_cast<int>(r)}, theirs, ways)};
    sockets.wished[r] = std::to_integer<int>(theirs[1]);
    sockets.may_measure[r] = theirs[3] != std::byte{};
    sockets.addresses[r] = further_in(theirs, {static_cast<int>(r)}, wishes.further);
  });
  round.exchange(answers, [&](std::size_t r, const Answer& theirs) {
    const Rank rank{static_cast<int>(r)};
    if (agree(rank, theirs.front() & answers[r].front(), ways)) return;
    check_fabric(wishes, rank, ways.first.transport.get(), introductions[r]);
    if (reason.empty()) reason = reason_for_tcp(rank, ways.first, introductions[r]);
  });
  const auto failed = [&](Rank rank, const std::string& why) {
    const std::string text = "rank " + std::to_string(rank.value) + ": " + why;
    if (is_asked_for(wishes)) throw Error(ErrorKind::remote, "the fabric does not reach " + text);
    if (reason.empty()) reason = text;
  };
  for (FabricTransport* const fabric : ways.fabrics())
    meet_by_fabric(fabric, ranks, round, deadline, failed);
  const std::string software = ways.first.transport ? ways.first.lack : "";
  keep(connections, std::move(ways));
  connections.topology = exchange_topology(connections, round);
  check_requirement(connections, wishes, reason, software);
  connections.network_report = network_report(connections, reason, software);
  connections.are_sockets_spared = takes_several_devices(wishes);
  if (wishes.transport == NetworkTransport::hybrid || connections.are_sockets_spared)
    become_hybrid(connections, wishes, sockets);
  else
    sockets.flows = flows_of(connections, wishes, sockets.wished);
  return sockets;
}

void become_hybrid(Connections& connections, const Wishes& wishes, FurtherSockets& sockets) {
  connections.is_hybrid = true;
  const auto source_of = [&](const FabricTransport& fabric) {
    return std::make_unique<FabricSource>(connections.rank, connections.size,
                                          settings_of_fabric(fabric, wishes), wishes.near);
  };
  if (connections.fabric) connections.fabric_source = source_of(*connections.fabric);
  for (FurtherFabric& further : connections.further_fabrics)
    further.source = source_of(*further.fabric);
  sockets.flows = flows_of(connections, wishes, sockets.wished);
}

}  // namespace fastgpu::comm
