// A check that the programs of all ranks fit together.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm/schedule/program.hpp"

namespace fastgpu::comm {

/// The numbers of elements that the caller of each rank gives.
struct BufferSizes {
  std::uint64_t data = 0;
  std::uint64_t input = 0;
};

/// Returns a fault as a sentence that names rank and step; absent if the programs are right. Parts
/// must be within their buffers and as long on both sides of a step. Input is never written, peers
/// exist and are other ranks, and each send has its receive of the same length. No order that
/// Dependencies allow may end in a deadlock, even if a send is done only with its receive.
std::optional<std::string> find_fault(std::span<const Program> programs, const BufferSizes& sizes);

}  // namespace fastgpu::comm
