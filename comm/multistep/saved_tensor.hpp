// The parts of a tensor that a saved state keeps, by the mode.
#pragma once

#include <cstddef>

#include "comm/multistep/multistep_settings.hpp"
#include "comm/multistep/saved_state.hpp"
#include "comm/multistep/tensor.hpp"

namespace fastgpu::comm {

/// Returns copies of the memory that the mode needs between rounds: the sums of gradients, or
/// parameters with what is remembered of them.
SavedTensor saved(MultistepTensor& tensor, MultistepMode mode);

/// Returns the bytes that saved(tensor, mode) has in an encoded state.
std::size_t saved_bytes(MultistepTensor& tensor, MultistepMode mode);

/// Returns true if the state is that of a tensor of this name and size, in the same mode.
bool fits(const SavedTensor& state, MultistepTensor& tensor, MultistepMode mode);

/// Gives the tensor its saved memory, which fits.
void load(const SavedTensor& state, MultistepTensor& tensor);

}  // namespace fastgpu::comm
