// How the processes of one job are counted.
#pragma once

#include "base/strong.hpp"

namespace fastgpu::comm {

using Rank = Strong<struct RankTag, int>;  ///< From 0.

}  // namespace fastgpu::comm
