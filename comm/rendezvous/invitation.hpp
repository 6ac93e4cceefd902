// The message of rank 0 to the others by MPI: its meeting point, and a secret of this job alone.
#pragma once

#include <array>
#include <vector>

#include "base/error.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm {

struct Invitation {
  std::array<std::byte, 32> key{};
  std::vector<Endpoint> points{};  ///< Addresses of rank 0, likely ones first.
};

constexpr std::size_t kInvitationBytes = 512;
using InvitationBytes = std::array<std::byte, kInvitationBytes>;

/// Encodes as many points as there is room for.
InvitationBytes encode(const Invitation& invitation);

/// Encodes the reason for a missing invitation.
InvitationBytes encode(const Error& refusal);

/// Decodes an invitation. Throws rank 0's refusal, in its words.
Invitation decode_invitation(const InvitationBytes& bytes);

/// Completes `place` with the invitation of rank 0, on all ranks at once. Returns rank 0's
/// listening socket, and none on the others.
UniqueFd invite_by_mpi(JobPlace& place, const mpi::MpiWorld& world, Deadline deadline);

}  // namespace fastgpu::comm
