// What rank 0 tells the others by MPI: where it is met, and a secret that nobody else knows.
#pragma once

#include <array>
#include <vector>

#include "base/error.hpp"
#include "comm/mpi/world.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/environment.hpp"

namespace fastgpu::comm {

struct Invitation {
  std::array<std::byte, 32> key{};
  std::vector<Endpoint> points{};  ///< Addresses of rank 0, likely ones first.
};

constexpr std::size_t kInvitationBytes = 512;
using InvitationBytes = std::array<std::byte, kInvitationBytes>;

/// As many points as there is room for.
InvitationBytes encode(const Invitation& invitation);

/// Why there is none.
InvitationBytes encode(const Error& refusal);

/// Throws what was refused, in rank 0's words.
Invitation decode_invitation(const InvitationBytes& bytes);

/// All ranks at once: completes `place` with what rank 0 has told. Returns rank 0's listening
/// socket, and none on the others.
UniqueFd invite_by_mpi(JobPlace& place, const mpi::World& world, Deadline deadline);

}  // namespace fastgpu::comm
