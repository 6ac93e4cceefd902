// Rank 0 as the rank that all others meet first: it listens at the address of the job, and the
// others connect there.
#pragma once

#include <string>

#include "base/unique_fd.hpp"
#include "comm/common/deadline.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm {

/// Returns "rank 0 at node-1:29500", for errors.
std::string master_name(const JobPlace& place);

/// Returns the identity of the rank of `place`, in a meeting whose session is not known yet.
PeerIdentity identity_of(const JobPlace& place);

/// Returns the socket at which rank 0 listens for the others. Throws ErrorKind::conflict, with a
/// remedy, if another program has the port; ErrorKind::usage if the others would connect to another
/// address; and as meeting_points() does.
UniqueFd listen_as_master(const JobPlace& place, Deadline deadline);

/// A rank's connection to rank 0, and the address at which the rank listens itself.
struct MasterConnection {
  UniqueFd socket;
  UniqueFd listener;
  Endpoint listens_at;
  Session session{};  ///< The name that rank 0 gives this meeting.
};

/// Connects to rank 0, and proves to it that this rank belongs to the job. Tries again while rank 0
/// is absent: ranks start in any order. Throws ErrorKind::timeout at the deadline, with the last
/// obstacle, and final kinds if rank 0 refuses this rank.
MasterConnection connect_to_master(const JobPlace& place, Deadline deadline);

}  // namespace fastgpu::comm
