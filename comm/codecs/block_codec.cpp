#include "comm/codecs/block_codec.hpp"

#include <cassert>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {

std::size_t BlockCodec::encoded_bytes(std::size_t count) const noexcept {
  return blocks_of(count, block_) * sizeof(float) + (count * bits_ + 7) / 8;
}

void BlockCodec::encode(std::span<std::byte> code, std::span<const float> values,
                        std::uint64_t seed) const {
  assert(code.size() == encoded_bytes(values.size()));
  (kernels().*kernel_).encode(code.data(), values.data(), values.size(), seed);
}

void BlockCodec::encode_with_feedback(std::span<std::byte> code, std::span<float> values,
                                      std::uint64_t seed) const {
  assert(code.size() == encoded_bytes(values.size()));
  const Kernels::Code& kernel = kernels().*kernel_;
  if (kernel.encode_with_feedback == nullptr)
    Codec::encode_with_feedback(code, values, seed);
  else
    kernel.encode_with_feedback(code.data(), values.data(), values.size(), seed);
}

void BlockCodec::add(std::span<float> sum, std::span<const std::byte> code, float factor) const {
  assert(code.size() == encoded_bytes(sum.size()));
  add_from(sum, code.data(), sum.size(), 0, factor);
}

void BlockCodec::add_range(std::span<float> sum, std::span<const std::byte> code, std::size_t count,
                           std::size_t first) const {
  assert(code.size() == encoded_bytes(count) && first % block_ == 0);
  add_from(sum, code.data(), count, first, 1);
}

/// Adds numbers of a code of `count` numbers from `first` on.
void BlockCodec::add_from(std::span<float> sum, const std::byte* code, std::size_t count,
                          std::size_t first, float factor) const {
  const std::byte* const scales = code + first / block_ * sizeof(float);
  const std::byte* const numbers =
      code + blocks_of(count, block_) * sizeof(float) + first * bits_ / 8;
  (kernels().*kernel_).add(sum.data(), scales, numbers, sum.size(), factor);
}

}  // namespace fastgpu::comm
