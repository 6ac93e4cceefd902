#include "comm/multistep/saved_tensor.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace fastgpu::comm {
namespace {

/// The memory of a tensor that a state keeps; empty where the mode has none.
struct KeptMemory {
  std::span<std::byte> values{};
  std::span<std::byte> work{};
  std::span<std::byte> anchor{};
  std::span<std::byte> momentum{};
};

KeptMemory kept(MultistepTensor& tensor, MultistepMode mode) {
  if (averages_gradients(mode)) return {.work = tensor.work()};
  return {.values = tensor.values(), .anchor = tensor.anchor(), .momentum = tensor.momentum()};
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

SavedTensor saved(MultistepTensor& tensor, MultistepMode mode) {
  const KeptMemory memory = kept(tensor, mode);
  return {.name = tensor.info().name,
          .values = copy_of(memory.values),
          .work = copy_of(memory.work),
          .anchor = copy_of(memory.anchor),
          .momentum = copy_of(memory.momentum)};
}

std::size_t saved_bytes(MultistepTensor& tensor, MultistepMode mode) {
  const KeptMemory memory = kept(tensor, mode);
  return kSavedTensorHead + tensor.info().name.size() + memory.values.size() + memory.work.size() +
         memory.anchor.size() + memory.momentum.size();
}

bool fits(const SavedTensor& state, MultistepTensor& tensor, MultistepMode mode) {
  const KeptMemory memory = kept(tensor, mode);
  return state.name == tensor.info().name && state.values.size() == memory.values.size() &&
         state.work.size() == memory.work.size() && state.anchor.size() == memory.anchor.size() &&
         state.momentum.size() == memory.momentum.size();
}

void load(const SavedTensor& state, MultistepTensor& tensor) {
  std::ranges::copy(state.work, tensor.work().begin());
  std::ranges::copy(state.values, tensor.values().begin());
  std::ranges::copy(state.anchor, tensor.anchor().begin());
  std::ranges::copy(state.momentum, tensor.momentum().begin());
}

}  // namespace fastgpu::comm
