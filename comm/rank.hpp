// How the processes of one job are counted.
#pragma once

#include <cstdint>

#include "base/strong.hpp"

namespace fastgpu::comm {

using Rank = Strong<struct RankTag, int>;  ///< From 0.

/// What it means for a message that its receiver has gone, or goes.
enum class IfGone : std::uint8_t {
  fails,       ///< The job cannot go on.
  is_ignored,  ///< Nobody needs the message any more.
};

}  // namespace fastgpu::comm
