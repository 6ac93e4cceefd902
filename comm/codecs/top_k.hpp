// The largest numbers alone, with their places.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/codecs/codec.hpp"

namespace fastgpu::comm {

/// A codec of a fixed part of the numbers: those of the largest magnitude, at least one. The code
/// is the number of entries in each 65536 numbers (32 bits), the place of each entry in these (16
/// bits), and its float32.
class TopK final : public Codec {
 public:
  /// `part` is above 0 and at most 1.
  explicit TopK(double part) : part_(part) {}

  std::size_t entries(std::size_t count) const noexcept;

  std::size_t encoded_bytes(std::size_t count) const noexcept override;
  void encode(std::span<std::byte> code, std::span<const float> values,
              std::uint64_t seed) const override;
  void encode_with_feedback(std::span<std::byte> code, std::span<float> values,
                            std::uint64_t seed) const override;
  void add(std::span<float> sum, std::span<const std::byte> code, float factor) const override;

 private:
  double part_;
};

/// Numbers of a gradient with their places, in order.
struct PlacedNumbers {
  std::vector<std::uint32_t> places;
  std::vector<float> numbers;
};

/// Returns the `wanted` numbers of the largest magnitudes. NaN is larger than infinity; of equal
/// ones the first is taken. Exact: a sample only decides where to look.
PlacedNumbers largest(std::span<const float> values, std::size_t wanted);

}  // namespace fastgpu::comm
