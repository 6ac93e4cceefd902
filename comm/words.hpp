// One rank's sentence, for all ranks to repeat.
#pragma once

#include <string>

#include "comm/communicator.hpp"

namespace fastgpu::comm {

/// A collective: what `speaker` gave as `own`, cut after some 250 characters, and safe to show.
std::string in_words_of(Communicator& communicator, Rank speaker, const std::string& own);

}  // namespace fastgpu::comm
