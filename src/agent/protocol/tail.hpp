// The end of a job's output that a reader asks for.
#pragma once

#include <cstdint>

namespace fastgpu::agent {

/// The unit in which the lines of a tail are counted.
enum class TailOf : std::uint8_t {
  rank,  ///< Both streams of a rank together. The streams of the launcher are counted apart.
  log    ///< Each stream by itself.
};

struct Tail {
  std::uint64_t lines = 0;
  TailOf of = TailOf::rank;
};

}  // namespace fastgpu::agent
