#include "comm/rendezvous/introduce.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptors.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/wire.hpp"
#include "comm/fabric/card.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/rendezvous/fabric_source.hpp"
#include "comm/rendezvous/farewells.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/introduction.hpp"
#include "comm/rendezvous/network_order.hpp"
#include "comm/rendezvous/network_report.hpp"
#include "comm/rendezvous/round.hpp"
#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {
namespace {

/// The first reason for which this rank cannot go on. The others wait for its next message, so it
/// goes on until a message can carry the reason, and throws then.
class Objection {
 public:
  /// Calls `action`, and keeps its error. `doing` is put before the error.
  template <class Action>
  void keep_error_of(const std::string& doing, Action action) {
    try {
      action();
    } catch (const Error& e) {
      if (!error_) error_ = doing.empty() ? e : e.during(doing);
    }
  }

  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  std::optional<Error> error_;
};

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

FabricAttempt fabric_transport(const Connections& connections,
                               const fabric::FabricSettings& settings, const Wishes& wishes) try {
  auto opened =
      fabric::open_endpoint(settings, {connections.size, wishes.near, connections.rank.value});
  if (!opened.endpoint) return {.lack = std::move(opened.lack)};
  auto made = std::make_unique<FabricTransport>(connections.rank, connections.size,
                                                std::move(opened.endpoint));
  if (settings.gpudirect == fabric::GpuDirect::off) made->device_memory().forbid();
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

/// Returns the ways for the other ranks.
Ways ways_to_this_rank(const TriedWays& tried, const Wishes& wishes) {
  Ways ways{.lack = reason_for_no_fabric(tried.first, wishes)};
  if (tried.shared) ways.address = tried.shared->address();
  for (const FabricTransport* const fabric : tried.fabrics())
    ways.cards.push_back(fabric == nullptr ? std::vector<std::byte>() : fabric->own_card());
  return ways;
}

void keep(Connections& connections, TriedWays&& ways) {
  connections.shared = std::move(ways.shared);
  connections.fabric = std::move(ways.first.transport);
  for (std::size_t i = 0; i < ways.further.size(); ++i)
    if (ways.further[i])
      connections.further_fabrics.push_back({i + 1, std::move(ways.further[i]), nullptr});
}

/// Connects to the rank with that introduction in each way that is possible, and returns these.
std::byte connect(Rank rank, const Introduction& theirs, const TriedWays& tried) {
  std::byte ways{};
  const auto address = address_in(theirs);
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

/// The time in which a fabric must carry the first frames; after it TCP is used, if it may be.
constexpr std::chrono::milliseconds kMeetTimeout = std::chrono::seconds(20);

/// The bits of the answer that follows a meeting by a fabric.
constexpr std::byte kHasMet{1};
constexpr std::byte kIsShortOfFiles{2};  ///< The rank may have too few files for its connections.

/// Returns the advice for a rank that finds no answer by its fabric, which matches. Providers drop
/// a connection that they have no file for, and report nothing.
std::string advice_for_silence(std::byte here, std::byte there) {
  if ((here & kIsShortOfFiles) != std::byte{})
    return "; its connections may need more open files than this process may have: run `ulimit -n "
           "65536`";
  if ((there & kIsShortOfFiles) != std::byte{})
    return "; its connections may need more open files than that rank may have: run `ulimit -n "
           "65536` on its node";
  return "; check that the security group and the switches let it through";
}

/// Meets the other ranks by the fabric, in three quarters of the time that is left at most: then
/// they have to agree on it. Returns kIsShortOfFiles if that may be why some do not answer, which
/// get the reason in `failures`. Providers in software open a file for each end of a connection.
std::byte meet_in_time(FabricTransport& fabric, std::size_t ranks, Deadline deadline,
                       std::map<Rank, std::string>& failures) {
  const std::size_t before = free_descriptors();
  failures = fabric.meet(within(deadline, std::min(kMeetTimeout, deadline.left() * 3 / 4)));
  const bool is_short = std::min(before, free_descriptors()) < 2 * ranks;
  return is_short && !fabric.traits().is_hardware ? kIsShortOfFiles : std::byte{};
}

/// Exchanges the first frames by the fabric. What fails on one side is given up on both, which
/// `failed` gets with the reason.
void meet_by_fabric(FabricTransport* fabric, std::size_t ranks, Round& round, Deadline deadline,
                    const std::function<void(Rank, const std::string&)>& failed) {
  std::map<Rank, std::string> failures;
  std::byte own{};
  if (fabric != nullptr) own = meet_in_time(*fabric, ranks, deadline, failures);
  std::vector<Answer> answers(ranks, Answer{own});
  for (std::size_t r = 0; r < ranks; ++r)
    if (!failures.contains({static_cast<int>(r)})) answers[r].front() |= kHasMet;
  round.exchange(answers, [&](std::size_t r, const Answer& theirs) {
    const Rank rank{static_cast<int>(r)};
    const bool has_met_there = (theirs.front() & kHasMet) != std::byte{};
    if (has_met_there && !failures.contains(rank)) return;
    if (fabric != nullptr) fabric->disconnect(rank);
    failed(rank,
           (failures.contains(rank) ? failures.at(rank) : "it has heard nothing from this rank") +
               advice_for_silence(own, theirs.front()));
  });
}

/// The last message of an introduction: the lowest rank in reach, and the length of the reason for
/// which the rank cannot go on, 0 for none, with the reason.
constexpr std::size_t kMaxReason = 1000;
using LastWord = std::array<std::byte, sizeof(std::uint32_t) + sizeof(std::uint8_t) +
                                           sizeof(std::uint16_t) + kMaxReason>;

LastWord last_word_of(std::uint32_t lowest, bool stays_here, const Objection& objection) {
  LastWord word{};
  const std::string reason =
      objection.error() ? std::string(objection.error()->what()).substr(0, kMaxReason) : "";
  const auto bytes = std::as_bytes(std::span(reason));
  WireWriter(word)
      .put(lowest)
      .put(static_cast<std::uint8_t>(stays_here))
      .put(static_cast<std::uint16_t>(bytes.size()));
  std::ranges::copy(bytes, word.end() - kMaxReason);
  return word;
}

/// Returns the reason for which the rank that sent it cannot go on; empty for none.
std::string reason_in(const LastWord& word) {
  WireReader in(word);
  in.get<std::uint32_t>();
  in.get<std::uint8_t>();
  const auto length = std::min<std::size_t>(in.get<std::uint16_t>(), kMaxReason);
  const auto bytes = std::span(word).last<kMaxReason>().first(length);
  return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, kMaxReason);
}

/// Returns whether no connection of this rank leaves the machine.
bool stays_here(const Connections& connections) {
  return std::ranges::all_of(connections.sockets, [](const auto& sockets) {
    return sockets.empty() || is_within_host(sockets.front().get());
  });
}

/// Groups the ranks: those with the same lowest rank in reach are on the same node. Throws this
/// rank's objection, or that of another.
Topology exchange_topology(const Connections& connections, Round& round,
                           const Objection& objection) {
  const auto ranks = static_cast<std::size_t>(connections.size);
  std::uint32_t lowest = 0;
  const auto is_near = [&](std::uint32_t r) {
    const Rank rank{static_cast<int>(r)};
    return rank == connections.rank || (connections.shared && connections.shared->reaches(rank));
  };
  while (!is_near(lowest))
    ++lowest;
  std::map<std::uint32_t, std::vector<Rank>> nodes;
  nodes[lowest].push_back(connections.rank);
  std::optional<CausedError> theirs_to_say;  // Thrown once all are read, as in
                                             // exchange_introductions.
  bool do_all_stay = stays_here(connections);
  round.exchange(std::vector(ranks, last_word_of(lowest, do_all_stay, objection)),
                 [&](std::size_t r, const LastWord& theirs) {
                   WireReader in(theirs);
                   nodes[in.get<std::uint32_t>()].push_back({static_cast<int>(r)});
                   do_all_stay = in.get<std::uint8_t>() != 0 && do_all_stay;
                   const std::string why = reason_in(theirs);
                   const Rank rank{static_cast<int>(r)};
                   if (!theirs_to_say && !why.empty())
                     theirs_to_say.emplace(Error(ErrorKind::remote, said_by(why, rank)), rank);
                 });
  if (objection.error()) throw Error(*objection.error());
  if (theirs_to_say) throw CausedError(*theirs_to_say);
  Topology topology;
  topology.is_one_machine = do_all_stay && nodes.size() > 1;
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

/// Returns what all ranks say of themselves, by rank.
std::vector<Introduction> exchange_introductions(Round& round, std::size_t ranks,
                                                 const Introduction& mine) {
  std::vector<Introduction> all(ranks);
  round.exchange(std::vector(ranks, mine), [&](std::size_t r, const Introduction& theirs) {
    throw_if_farewell(theirs, {static_cast<int>(r)});
    all[r] = theirs;
  });
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

void await_all(const Connections& connections, Deadline deadline) {
  Round round(connections.rank, connections.sockets, deadline);
  exchange_introductions(round, static_cast<std::size_t>(connections.size), Introduction{});
}

void take_leave(const Connections& connections, const Error& reason, Deadline deadline) noexcept {
  try {
    const auto ranks = static_cast<std::size_t>(connections.size);
    Round round(connections.rank, connections.sockets, deadline);
    round.exchange(std::vector(ranks, farewell_of(reason, connections.rank)),
                   [](std::size_t, const Introduction&) {});
  } catch (const std::exception&) {  // Others may have gone as well.
  }
}

namespace {

/// The ranks that no fabric reaches.
struct Unreached {
  std::string reason{};  ///< Why the first of them is reached by TCP.
  std::map<Rank, std::string> lacks{};

  void add(Rank rank, const std::string& why, const std::string& lack) {
    if (reason.empty()) reason = why;
    lacks.emplace(rank, lack);
  }
};

FurtherSockets sockets_for(std::size_t ranks) {
  return {.flows = {},
          .addresses = std::vector<std::vector<Endpoint>>(ranks),
          .wished = std::vector<int>(ranks, 0),
          .may_measure = std::vector<bool>(ranks)};
}

/// Returns the addresses on all networks.
std::vector<Endpoint> behind(const Endpoint& first, const std::vector<Endpoint>& further) {
  std::vector<Endpoint> all{first};
  all.insert(all.end(), further.begin(), further.end());
  return all;
}

/// The further networks of two ranks.
struct FurtherNetworks {
  const std::vector<Endpoint>& own;
  const std::vector<Endpoint>& theirs;
};

/// Returns all addresses of this machine; none for ranks with one network, which has no order.
std::vector<LocalAddress> addresses_for_order(const Wishes& wishes) {
  return wishes.further.empty() ? std::vector<LocalAddress>{} : all_addresses_of_machine();
}

/// Throws ErrorKind::usage if this rank and the one behind `socket` name their networks in another
/// order. `of_machine` are all addresses of this machine.
void check_order(Rank rank, int socket, const FurtherNetworks& further,
                 const std::vector<LocalAddress>& of_machine) {
  if (further.own.empty()) return;
  check_order_of_networks(rank, local_addresses(behind(local_end(socket), further.own), of_machine),
                          behind(remote_end(socket), further.theirs));
}

/// Takes what another rank wishes of the connections to it.
void take_wishes(FurtherSockets& sockets, Rank rank, const Introduction& theirs,
                 const Wishes& wishes) {
  const auto r = static_cast<std::size_t>(rank.value);
  sockets.wished[r] = flows_in(theirs);
  sockets.may_measure[r] = may_measure_in(theirs);
  sockets.addresses[r] = further_in(theirs, rank, wishes.further);
}

/// Decides which networks and how many connections carry messages.
void choose_flows(Connections& connections, const Wishes& wishes, FurtherSockets& sockets) {
  connections.are_sockets_spared = takes_several_devices(wishes);
  if (wishes.transport == NetworkTransport::hybrid || connections.are_sockets_spared)
    become_hybrid(connections, wishes, sockets);
  else
    sockets.flows = flows_of(connections, wishes, sockets.wished);
}

}  // namespace

FurtherSockets introduce(Connections& connections, const Wishes& wishes, Deadline deadline) {
  const auto ranks = static_cast<std::size_t>(connections.size);
  Round round(connections.rank, connections.sockets, deadline);
  TriedWays ways =
      or_take_leave(connections, deadline, [&] { return open_ways(connections, wishes); });
  std::vector<Answer> answers(ranks, Answer{});
  FurtherSockets sockets = sockets_for(ranks);
  Unreached unreached;
  Objection objection;
  const Introduction mine = introduction_of(ways_to_this_rank(ways, wishes), wishes);
  const std::vector<Introduction> introductions = exchange_introductions(round, ranks, mine);
  const auto of_machine = addresses_for_order(wishes);
  round.for_others([&](std::size_t r) {
    const Introduction& theirs = introductions[r];
    check_shared_wishes(theirs, {static_cast<int>(r)}, mine);
    check_devices(theirs, {static_cast<int>(r)}, ways.further.size());
    objection.keep_error_of(round.name_of(r),
                            [&] { answers[r] = {connect({static_cast<int>(r)}, theirs, ways)}; });
    take_wishes(sockets, {static_cast<int>(r)}, theirs, wishes);
    check_order({static_cast<int>(r)}, connections.sockets[r].front().get(),
                {wishes.further, sockets.addresses[r]}, of_machine);
  });
  round.exchange(answers, [&](std::size_t r, const Answer& theirs) {
    const Rank rank{static_cast<int>(r)};
    if (agree(rank, theirs.front() & answers[r].front(), ways)) return;
    objection.keep_error_of(round.name_of(r), [&] {
      check_fabric(wishes, rank, ways.first.transport.get(), introductions[r]);
    });
    unreached.add(rank, reason_for_tcp(rank, ways.first, introductions[r]),
                  lack_between(ways.first, introductions[r], wishes));
  });
  const auto failed = [&](Rank rank, const std::string& why) {
    const std::string text = name_of(rank) + ": " + why;
    objection.keep_error_of(round.name_of(static_cast<std::size_t>(rank.value)), [&] {
      if (is_asked_for(wishes.fabric))
        throw Error(ErrorKind::remote, "the fabric does not reach " + text);
    });
    unreached.add(rank, text, ": " + text);
  };
  for (FabricTransport* const fabric : ways.fabrics())
    meet_by_fabric(fabric, ranks, round, deadline, failed);
  const std::string software = ways.first.transport ? ways.first.lack : "";
  keep(connections, std::move(ways));
  objection.keep_error_of(
      "", [&] { check_requirement(connections, wishes, unreached.lacks, software); });
  connections.topology = exchange_topology(connections, round, objection);
  connections.network_report = network_report(connections, unreached.reason, software);
  choose_flows(connections, wishes, sockets);
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
