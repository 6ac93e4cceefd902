// The session directories of Open MPI, which stay if mpirun or a daemon of it is killed.
#pragma once

namespace fastgpu::agent {

/// Removes the session directories of this account on this host whose processes have ended. Those
/// of an mpirun that runs stay, and so do those of daemons while any process of MPI runs here.
/// Never throws.
void drop_dead_sessions() noexcept;

}  // namespace fastgpu::agent
