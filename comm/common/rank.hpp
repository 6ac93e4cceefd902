// The numbers of a job's processes.
#pragma once

#include <cstdint>

#include "base/strong.hpp"

namespace fastgpu::comm {

using Rank = Strong<struct RankTag, int>;  ///< Counted from 0.

/// The consequence for a message if its receiver has gone, or goes.
enum class IfGone : std::uint8_t {
  fails,       ///< The job cannot go on.
  is_ignored,  ///< Used for a message that is obsolete then.
};

}  // namespace fastgpu::comm
