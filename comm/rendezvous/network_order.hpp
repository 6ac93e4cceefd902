// The check that two ranks name their networks in the same order (FASTGPU_COMM_INTERFACE).
#pragma once

#include <span>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/rendezvous/endpoint.hpp"

namespace fastgpu::comm {

/// Throws ErrorKind::usage, naming two of the addresses, if a rank's address on one network is in
/// another network of this rank, and not in that with the same number: each would send by one wire,
/// and receive by the other. Networks with a router between them have nothing in common, and are
/// not looked at.
void check_order_of_networks(Rank rank, std::span<const LocalAddress> mine,
                             std::span<const Endpoint> theirs);

/// Returns these ends with the prefixes of this machine's addresses; 0 for an unknown one.
std::vector<LocalAddress> local_addresses(std::span<const Endpoint> ends,
                                          std::span<const LocalAddress> of_machine);

}  // namespace fastgpu::comm
