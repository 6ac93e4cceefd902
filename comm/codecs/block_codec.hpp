// The codecs whose numbers share a scale in blocks: int8 and 1bit. Their bytes are those of
// kernels/kernel_table.hpp.
#pragma once

#include "comm/codecs/codec.hpp"
#include "comm/kernels/kernel_table.hpp"

namespace fastgpu::comm {

class BlockCodec final : public Codec {
 public:
  /// `kernel` is that of a table; a number takes `bits` after the scales.
  BlockCodec(Kernels::Code Kernels::*kernel, std::size_t block, std::size_t bits)
      : kernel_(kernel), block_(block), bits_(bits) {}

  std::size_t encoded_bytes(std::size_t count) const noexcept override;
  void encode(std::span<std::byte> code, std::span<const float> values,
              std::uint64_t seed) const override;
  void encode_with_feedback(std::span<std::byte> code, std::span<float> values,
                            std::uint64_t seed) const override;
  void add(std::span<float> sum, std::span<const std::byte> code, float factor) const override;
  bool has_ranges() const noexcept override { return true; }
  void add_range(std::span<float> sum, std::span<const std::byte> code, std::size_t count,
                 std::size_t first) const override;

 private:
  void add_from(std::span<float> sum, const std::byte* code, std::size_t count, std::size_t first,
                float factor) const;

  Kernels::Code Kernels::*kernel_;
  std::size_t block_;
  std::size_t bits_;
};

}  // namespace fastgpu::comm
