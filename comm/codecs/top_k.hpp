// The largest numbers alone, with their places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/codecs/codec.hpp"
#include "comm/common/float16.hpp"

namespace fastgpu::comm {

/// A codec of a fixed part of the numbers: those of the largest magnitude, at least one. The code
/// is the number of entries in each 65536 numbers (32 bits), the place of each entry in these (16
/// bits), and its number (bfloat16). Error feedback keeps what the rounding leaves.
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
  void check(std::span<const std::byte> code, std::size_t count) const override;
  void add(std::span<float> sum, std::span<const std::byte> code, float factor) const override;

 private:
  template <class Visit>
  void for_each_entry(std::span<const std::byte> code, std::size_t count, Visit visit) const;

  double part_;
};

/// Numbers of a gradient with their places, in order. They are in memory that is not cleared first:
/// there is room for more.
class PlacedNumbers {
 public:
  explicit PlacedNumbers(std::size_t room)
      : places_(std::make_unique_for_overwrite<std::uint32_t[]>(room)),
        numbers_(std::make_unique_for_overwrite<float[]>(room)) {}

  std::size_t size() const noexcept { return size_; }
  void resize(std::size_t size) noexcept { size_ = size; }  ///< At most the room.

  std::span<const std::uint32_t> places() const noexcept { return {places_.get(), size_}; }
  std::span<const float> numbers() const noexcept { return {numbers_.get(), size_}; }
  std::uint32_t* all_places() noexcept { return places_.get(); }
  float* all_numbers() noexcept { return numbers_.get(); }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<std::uint32_t[]> places_;
  std::unique_ptr<float[]> numbers_;
};

/// Returns the `wanted` numbers of the largest magnitudes. NaN is larger than infinity; of equal
/// ones the first is taken. Exact: a sample only decides where to look.
PlacedNumbers largest(std::span<const float> values, std::size_t wanted);

/// Returns the same numbers, and leaves in their places what a code does not carry of them.
PlacedNumbers take_largest(std::span<float> values, std::size_t wanted);

/// Returns what a code carries of a number. A finite one stays finite.
constexpr BFloat16 carried_of(float number) noexcept {
  return to_bfloat16_within_range(number);
}

/// Returns what a code does not carry of a number, exactly; 0 for one that is not finite.
constexpr float rest_of(float number) noexcept {
  const float rest = number - to_float(carried_of(number));
  return rest == rest ? rest : 0.0F;
}

}  // namespace fastgpu::comm
