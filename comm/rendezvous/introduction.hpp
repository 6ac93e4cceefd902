// The bytes by which a rank introduces itself to another: its addresses, and its settings.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/fabric/card.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm {

/// Length of the address in shared memory, flows (0 for the usual number), transport, whether the
/// rank would measure its networks (or that it cannot go on: then the reason is in place of the
/// address), algorithm (0 if none is named), library of collectives, address; length of the card
/// for the fabric, card; length of the reason for which there is no card, reason; number of further
/// networks, addresses there; number of further devices of fabrics, and for each the length of its
/// card, card.
constexpr std::size_t kIntroductionBytes = 6 + 255 + 1 + fabric::kMaxCard + 1 + 255 + 1 +
                                           (kMostInterfaces - 1) * kEndpointBytes + 1 +
                                           (fabric::kMostDevices - 1) * (1 + fabric::kMaxCard);
using Introduction = std::array<std::byte, kIntroductionBytes>;

/// The ways in which a rank can be reached.
struct Ways {
  std::vector<std::byte> address{};             ///< The address in shared memory; empty: none.
  std::vector<std::vector<std::byte>> cards{};  ///< The cards by number of device; empty: none.
  std::string lack{};  ///< The reason for which the first card is missing; empty if it is not.
};

Introduction introduction_of(const Ways& ways, const Wishes& wishes);

/// Returns the introduction of a rank that cannot go on, which has the reason. Another rank may
/// send it on.
Introduction farewell_of(const Error& reason, Rank rank);

std::span<const std::byte> address_in(const Introduction& theirs);
std::span<const std::byte> card_in(const Introduction& theirs, std::size_t device);
/// Returns the reason for which a rank has taken no fabric; empty if it has.
std::string lack_in(const Introduction& theirs);
int flows_in(const Introduction& theirs);
bool may_measure_in(const Introduction& theirs);

/// Throws FarewellError, of ErrorKind::remote, if it is the introduction of a rank that cannot go
/// on. `from` has sent it.
void throw_if_farewell(const Introduction& theirs, Rank from);

/// Does the same for one anywhere in what a rank has sent.
void find_farewell(std::span<const std::byte> bytes, Rank from);

/// Returns a rank's addresses on further networks. Throws ErrorKind::usage if they are not as many
/// as this rank's.
std::vector<Endpoint> further_in(const Introduction& theirs, Rank rank,
                                 const std::vector<Endpoint>& mine);

/// Throws ErrorKind::usage if a rank has another value of a variable that all ranks need to have
/// alike.
void check_shared_wishes(const Introduction& theirs, Rank rank, const Introduction& mine);

/// Throws ErrorKind::usage if a rank has not named as many further devices as this one.
void check_devices(const Introduction& theirs, Rank rank, std::size_t mine);

}  // namespace fastgpu::comm
