// The network that carries messages, held against the one that the user wants, and against the best
// one of the machine.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/introduction.hpp"
#include "comm/transports/fabric_transport.hpp"

namespace fastgpu::comm {

struct FabricAttempt {
  std::unique_ptr<FabricTransport> transport{};
  std::string lack{};  ///< That of fabric::OpenedEndpoint.
};

/// Returns the reason for which this rank has taken no fabric; empty if it has.
std::string reason_for_no_fabric(const FabricAttempt& fabric, const Wishes& wishes);

/// Returns why no fabric connects this rank with another, as the end of a sentence on the other:
/// ", which has taken none: ..." or ": ...".
std::string lack_between(const FabricAttempt& fabric, const Introduction& theirs,
                         const Wishes& wishes);

/// Throws ErrorKind::usage, on both sides, where a fabric is a must and two ranks have none
/// together, and where they have a provider, which only the user names, that reaches less far.
void check_fabric(const Wishes& wishes, Rank rank, const FabricTransport* fabric,
                  const Introduction& theirs);

/// Returns why this machine's RDMA device does not carry the messages to a rank that is reached by
/// TCP; empty without such a device.
std::string reason_for_tcp(Rank rank, const FabricAttempt& fabric, const Introduction& theirs);

bool is_by_fabric(const Connections& connections, Rank rank);

/// Throws ErrorKind::capacity if a fabric is required, and does not reach a rank that shares no
/// memory with this one. `unreached` has the ends of its sentence, as of lack_between(). `software`
/// is empty, or says why a fabric without a device was taken, which the user has not named.
void check_requirement(const Connections& connections, const Wishes& wishes,
                       const std::map<Rank, std::string>& unreached, const std::string& software);

/// Returns the report on TCP, or on a fabric in software; both reasons may be empty.
std::string network_report(const Connections& connections, const std::string& reason_for_tcp,
                           const std::string& reason_for_software);

}  // namespace fastgpu::comm
