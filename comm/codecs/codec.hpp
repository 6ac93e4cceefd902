// Gradients as fewer bytes than their numbers take: what an exchange needs of any codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fastgpu::comm {

/// A codec of float32 numbers. Without state: the same numbers and seed give the same bytes on
/// every CPU. Any thread may call it.
/// Numbers that stay in a cache near the CPU while all codes of them are added: a multiple of each
/// codec's block.
constexpr std::size_t kCodeRange = 8'192;

class Codec {
 public:
  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;

  /// Returns the exact length of the code of so many numbers: both sides know it without a message.
  virtual std::size_t encoded_bytes(std::size_t count) const noexcept = 0;

  /// Writes the code, of encoded_bytes(values.size()) bytes. `seed` decides what is left to chance.
  virtual void encode(std::span<std::byte> code, std::span<const float> values,
                      std::uint64_t seed) const = 0;

  /// Encodes with error feedback: `values` then hold what the code does not carry, to be added to
  /// the next gradient. A number that is not finite leaves 0.
  virtual void encode_with_feedback(std::span<std::byte> code, std::span<float> values,
                                    std::uint64_t seed) const;

  /// Throws ErrorKind::remote for bytes that no encoder writes for so many numbers.
  virtual void check(std::span<const std::byte> code, std::size_t count) const;

  /// Adds factor times the decoded numbers. Throws as check does; a part may be added then.
  virtual void add(std::span<float> sum, std::span<const std::byte> code, float factor) const = 0;

  /// Returns true if add_range() decodes a part of a code without what is before it.
  virtual bool has_ranges() const noexcept { return false; }
  /// Adds the numbers of a code of `count` numbers from `first` on, which is a multiple of
  /// kCodeRange. Only for a codec with ranges.
  virtual void add_range(std::span<float> sum, std::span<const std::byte> code, std::size_t count,
                         std::size_t first) const;
};

}  // namespace fastgpu::comm
