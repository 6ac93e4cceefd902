// The steps of a short call, made ready to be run one after another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/schedule/dependencies.hpp"
#include "comm/schedule/program.hpp"

namespace fastgpu::comm {

class Transport;

/// A step with all that does not change from one call to the next.
struct DirectStep {
  StepIndex step = 0;
  StepKind kind = StepKind::copy;
  bool carries_note = false;
  bool is_sum = false;  ///< True if its part is a whole sum afterwards, to be divided.

  // Set for sends and receives.
  Rank peer{};                      ///< A rank of the job.
  Transport* transport = nullptr;   ///< Borrowed from the routes of the engine.
  std::uint64_t end_of_tag = 0;     ///< The lane and the number of the message.
  Buffer buffer = Buffer::data;     ///< The buffer of the message's bytes.
  std::size_t begin = 0, size = 0;  ///< The place of the message in it, in bytes.
};

}  // namespace fastgpu::comm
