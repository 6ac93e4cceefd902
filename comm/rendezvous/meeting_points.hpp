// The addresses at which the ranks of a job meet rank 0, and those at which a rank listens and from
// which it connects.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm {

/// Returns whether the ranks of the job share a secret.
bool has_secret(const JobPlace& place);

/// Returns the addresses at which rank 0 may be met. Throws ErrorKind::usage if
/// there is no secret and none of them is of loopback, and for an address of one link whose
/// interface is not named, or is another.
std::vector<Endpoint> meeting_points(const JobPlace& place);

/// The time for which ranks wait for the name of rank 0: where hosts get their names as they start,
/// as in Kubernetes, name servers learn them some seconds later.
constexpr std::chrono::seconds kNameTimeout{15};

/// Calls `find` again while it throws ErrorKind::not_found or local, at most until `deadline`.
/// Returns what it found, or throws what it threw last.
std::vector<Endpoint> await_name(const std::function<std::vector<Endpoint>()>& find,
                                 Deadline deadline);

/// Returns the address to listen at on the network of `nearby`, an address of this machine or its
/// loopback interface.
Endpoint listening_address(const JobPlace& place, const Endpoint& nearby, std::uint16_t port);

/// Returns the address from which this rank connects to `to`; absent if no interface is named.
std::optional<Endpoint> source_address(const JobPlace& place, const Endpoint& to);

/// Throws ErrorKind::usage if the other ranks would connect to an address of this machine at which
/// rank 0 does not listen. An address of another machine may lead here, and a name of loopback here
/// may be another address elsewhere.
void check_interface(const JobPlace& place, const std::vector<Endpoint>& points,
                     const Endpoint& listens_at);

}  // namespace fastgpu::comm
