// The rendezvous of the ranks of one job over TCP: they prove that they belong together, and
// connect.
#pragma once

#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm {

/// Meets the other ranks at rank 0's address, which MPI transfers if `place` requires it, and
/// returns once this rank is connected to each. A world of one needs no network.
///
/// With a secret, rank 0 and the others prove to each other that they know it, and strangers are
/// refused while the job waits on. Without one, only addresses of the loopback interface are
/// used: any process of this machine could join, and none of another machine. The data itself is
/// neither encrypted nor signed.
///
/// Throws ErrorKind::timeout, naming the missing ranks; ErrorKind::denied if secrets differ;
/// ErrorKind::conflict if the port or the rank is taken; ErrorKind::usage if the ranks disagree on
/// their number.
Connections join(const JobPlace& place);

}  // namespace fastgpu::comm
