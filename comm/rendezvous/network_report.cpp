#include "comm/rendezvous/network_report.hpp"

#include <netinet/in.h>

#include <algorithm>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "comm/fabric/card.hpp"
#include "comm/fabric/fabric_endpoint.hpp"

namespace fastgpu::comm {
namespace {

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
  bool is_of_scope = false;  ///< Both have the provider, which does not reach so far.
};

Mismatch mismatch_of(const FabricTransport* fabric, const Introduction& theirs) {
  const std::string there = provider_in(theirs);
  const std::string here = provider_of(fabric);
  const Mismatch providers{.reason = there + " there, " + here + " here"};
  if (there != here || fabric == nullptr) return providers;
  const fabric::Card card = fabric::decode_card(card_in(theirs, 0));
  if (card.scope != fabric->traits().scope)
    return {here + " reaches only ranks in the same PID namespace and with the same /dev/shm",
            "Set FASTGPU_COMM_FABRIC=tcp for all ranks", true};
  const std::size_t theirs_has = card.address.size();
  const std::size_t ours_has = fabric->card().address.size();
  if (theirs_has == ours_has) return providers;
  return {here + " has addresses of two kinds, " + kind_of_address(theirs_has) + " there, " +
              kind_of_address(ours_has) + " here",
          "Name devices with addresses of one kind by FASTGPU_COMM_FABRIC_DEVICE"};
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

}  // namespace

std::string reason_for_no_fabric(const FabricAttempt& fabric, const Wishes& wishes) {
  if (fabric.transport) return {};
  if (!fabric.lack.empty()) return fabric.lack;
  if (wishes.fabric.need == fabric::FabricNeed::none) return "FASTGPU_COMM_FABRIC is 'off'";
  return std::string(fabric::kNoFabricAsked);
}

std::string lack_between(const FabricAttempt& fabric, const Introduction& theirs,
                         const Wishes& wishes) {
  if (!fabric.transport) return ": " + reason_for_no_fabric(fabric, wishes);
  const std::string lack = lack_in(theirs);
  if (!lack.empty()) return ", which has taken none: " + lack;
  return ": " + mismatch_of(fabric.transport.get(), theirs).reason;
}

void check_fabric(const Wishes& wishes, Rank rank, const FabricTransport* fabric,
                  const Introduction& theirs) {
  const Mismatch mismatch = mismatch_of(fabric, theirs);
  const bool is_must = wishes.fabric.need == fabric::FabricNeed::must;
  if (!is_must && !mismatch.is_of_scope) return;
  const std::string wanted = wishes.transport == NetworkTransport::hybrid ? "hybrid" : "fabric";
  const std::string wish = is_must ? "FASTGPU_COMM_TRANSPORT is '" + wanted + "'"
                                   : "FASTGPU_COMM_FABRIC is '" + fabric->traits().provider + "'";
  throw Error(ErrorKind::usage, wish + ", but rank " + std::to_string(rank.value) +
                                    " is not reached by " + (is_must ? "one: " : "it: ") +
                                    mismatch.reason + ". " + mismatch.remedy +
                                    ", or FASTGPU_COMM_TRANSPORT=tcp");
}

std::string reason_for_tcp(Rank rank, const FabricAttempt& fabric, const Introduction& theirs) {
  if (!fabric.transport) return fabric.lack;
  if (!fabric.transport->traits().is_hardware) return {};
  return "rank " + std::to_string(rank.value) + " has no matching fabric (" +
         mismatch_of(fabric.transport.get(), theirs).reason + ")";
}

bool is_by_fabric(const Connections& connections, Rank rank) {
  return (connections.fabric && connections.fabric->reaches(rank)) ||
         std::ranges::any_of(connections.further_fabrics, [&](const FurtherFabric& further) {
           return further.fabric->reaches(rank);
         });
}

void check_requirement(const Connections& connections, const Wishes& wishes,
                       const std::map<Rank, std::string>& unreached, const std::string& software) {
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
    const auto end = unreached.find(rank);
    throw Error(ErrorKind::capacity,
                name_of(connections.rank) +
                    ": FASTGPU_COMM_REQUIRE is 'fabric', but no fabric carries messages to " +
                    name_of(rank) + (end == unreached.end() ? "" : end->second));
  }
}

std::string network_report(const Connections& connections, const std::string& reason_for_tcp,
                           const std::string& reason_for_software) {
  if (reason_for_software.empty() || connections.topology.nodes.size() < 2)
    return report_of_slow_network(connections, {}, reason_for_tcp);
  const std::string provider = provider_of(connections.fabric.get());
  return report_of_slow_network(connections, {provider, "FASTGPU_COMM_FABRIC=" + provider},
                                reason_for_software);
}

}  // namespace fastgpu::comm
