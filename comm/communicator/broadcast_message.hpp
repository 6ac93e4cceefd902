// A message of one rank to all others.
#pragma once

#include <string>

#include "comm/communicator/communicator.hpp"

namespace fastgpu::comm {

/// Returns `own` of `sender` on every rank, by a collective call: cut after some 250 characters,
/// and safe to show.
std::string broadcast_message(Communicator& communicator, Rank sender, const std::string& own);

}  // namespace fastgpu::comm
