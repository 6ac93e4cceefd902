// Whether the programs of all ranks fit together.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm/schedule/program.hpp"

namespace fastgpu::comm {

/// Elements that the caller of each rank gives.
struct BufferSizes {
  std::uint64_t data = 0;
  std::uint64_t input = 0;
};

/// What is wrong, as a sentence that names rank and step; nothing where the programs are right:
/// parts lie within their buffers and are as long on both sides of a step, input is never written,
/// peers exist and are others, each send has its receive of the same length, and no order that
/// Dependencies allow ends in a deadlock, even where a send is done only with its receive.
std::optional<std::string> find_fault(std::span<const Program> programs, const BufferSizes& sizes);

}  // namespace fastgpu::comm
