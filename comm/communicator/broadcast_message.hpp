// One rank's sentence, for all ranks to repeat.
#pragma once

#include <string>

#include "comm/communicator/communicator.hpp"

namespace fastgpu::comm {

/// Returns `own` of `speaker` on every rank, by a collective call: cut after some 250 characters,
/// and safe to show.
std::string in_words_of(Communicator& communicator, Rank speaker, const std::string& own);

}  // namespace fastgpu::comm
