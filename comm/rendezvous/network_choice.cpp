#include "comm/rendezvous/network_choice.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/rendezvous/network_probe.hpp"

namespace fastgpu::comm {
namespace {

/// The limit for a measurement of the networks between two ranks.
constexpr auto kProbeTime = std::chrono::seconds(2);

/// Returns the rank with which this one measures networks; absent if one of the two does not.
std::optional<Rank> partner_of(const Connections& connections, const Wishes& wishes,
                               const FurtherSockets& sockets) {
  const auto partner = probe_partner(connections.topology, connections.rank);
  if (!partner || !connections.fabric || !connections.fabric->reaches(*partner))
    return std::nullopt;
  if (!wishes.may_measure || !sockets.may_measure[index_of(*partner)]) return std::nullopt;
  return partner;
}

/// Makes the connections by which a rank measures with its partner.
ProbedNetworks connect_to_measure(Rank partner, const Wishes& wishes, const FurtherSockets& sockets,
                                  const FurtherConnector& connect) {
  const int theirs = sockets.wished[index_of(partner)];
  const int flows =
      std::min(wishes.flows.value_or(kUsualFlows), theirs == 0 ? kUsualFlows : theirs);
  FurtherSockets wanted{.flows = std::vector(sockets.flows.size(), 1),
                        .addresses = sockets.addresses};
  wanted.flows[index_of(partner)] = 1 + 2 * flows;
  SocketsByRank made = connect(wanted);
  ProbedNetworks probed{.fabric = nullptr, .alone = std::move(made[index_of(partner)])};
  std::move(probed.alone.begin() + flows, probed.alone.end(), std::back_inserter(probed.beside));
  probed.alone.resize(static_cast<std::size_t>(flows));
  return probed;
}

/// Measures the networks between this rank and another, if it is one that does.
ProbeResult measure(const Connections& connections, const Wishes& wishes,
                    const FurtherSockets& sockets, const FurtherConnector& connect,
                    Deadline deadline) {
  const auto partner = partner_of(connections, wishes, sockets);
  if (!partner) return {};
  ProbedNetworks probed = connect_to_measure(*partner, wishes, sockets, connect);
  try {
    probed.fabric = open_probed_fabric(connections, wishes, *partner, deadline);
    const ProbedPair pair = measure_networks(connections.rank, *partner, connections.size,
                                             std::move(probed), Deadline(kProbeTime));
    return {.pair = connections.rank < *partner ? std::optional(pair) : std::nullopt};
  } catch (const Error& e) {
    return {.failure =
                e.kind() == ErrorKind::timeout ? ProbeFailure::took_too_long : ProbeFailure::other};
  }
}

}  // namespace

void choose_networks(Connections& connections, const Wishes& wishes, FurtherSockets& sockets,
                     const FurtherConnector& connect, Deadline deadline) {
  const ProbeResult mine = measure(connections, wishes, sockets, connect, deadline);
  const ProbedJob probed = exchange_results(connections, mine, deadline);
  if (probed.pairs.empty() && !probed.failed) return;
  const bool is_hybrid = !probed.failed && is_hybrid_better(probed.pairs);
  if (is_hybrid) become_hybrid(connections, wishes, sockets);
  if (connections.rank != Rank{0}) return;
  std::string& report = connections.network_report;
  if (!report.empty()) report += ". ";
  report += report_of_probe(probed, is_hybrid);
}

}  // namespace fastgpu::comm
