// The kernels of codes, by the rules of loops.hpp. They are plain loops, which the compiler turns
// into vectors of any length: each number is calculated alone, and sums of numbers are made in 16
// lanes. So all instruction sets give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/kernels/formats.hpp"
#include "comm/kernels/kernel_table.hpp"

namespace fastgpu::comm::loops {

/// Writes the places, from `first` on, of the lanes that are set in `bits`, and may write three in
/// any case: a branch for each place would often be mispredicted. Returns how many are set.
template <class Isa>
std::size_t append_lanes(std::uint32_t* places, std::uint32_t first, std::uint64_t bits) noexcept {
  constexpr std::size_t kAlways = 3;
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 63U;  // What is found where no bit is left.
  const auto found = static_cast<std::size_t>(__builtin_popcountll(bits));
  for (std::size_t i = 0; i < kAlways; ++i, bits &= bits - 1)
    places[i] = first + static_cast<std::uint32_t>(__builtin_ctzll(bits | kEnd));
  for (std::size_t i = kAlways; i < found; ++i, bits &= bits - 1)
    places[i] = first + static_cast<std::uint32_t>(__builtin_ctzll(bits));
  return found;
}

template <class Machine>
struct CodeLoops {
  static void encode_int8(void* code, const float* values, std::size_t count,
                          std::uint64_t seed) noexcept {
    char* const scales = static_cast<char*>(code);
    char* const numbers = scales + sizeof(float) * number_of_blocks(count, kInt8Block);
    for_each_block<kInt8Block>(
        values, count, [=](std::size_t at, const float* block, std::size_t length) {
          write_ahead<kInt8Block>(numbers + at);
          std::int8_t rounded[kInt8Block];
          const float scale = round_block(rounded, block, static_cast<std::uint32_t>(at), seed);
          put(scales + at / kInt8Block * sizeof(float), scale);
          __builtin_memcpy(numbers + at, rounded, length);
        });
  }

  static void add_int8(float* sum, const void* of_blocks, const void* bytes, std::size_t count,
                       float factor) noexcept {
    const char* const scales = static_cast<const char*>(of_blocks);
    const char* const numbers = static_cast<const char*>(bytes);
    for (std::size_t at = 0; at < count; at += kInt8Block) {
      const std::size_t length = shorter(count - at, kInt8Block);
      const float scale = get(scales + at / kInt8Block * sizeof(float)) * factor;
      std::int8_t rounded[kInt8Block] = {};
      __builtin_memcpy(rounded, numbers + at, length);
      float* const to = sum + at;
      read_ahead<kInt8Block>(to);
      for (std::size_t i = 0; i < length; ++i)
        to[i] = added(to[i], static_cast<float>(rounded[i]) * scale);
    }
  }

  static void encode_signs(void* code, const float* values, std::size_t count,
                           std::uint64_t) noexcept {
    const SignCode to(code, count);
    for_each_block<kSignBlock>(values, count,
                               [&](std::size_t at, const float* block, std::size_t length) {
                                 to.put_block(at, block, length);
                               });
  }

  static void encode_signs_with_feedback(void* code, float* values, std::size_t count,
                                         std::uint64_t) noexcept {
    const SignCode to(code, count);
    std::size_t at = 0;
    for (; count - at >= kSignBlock; at += kSignBlock) {
      read_ahead<kSignBlock>(values + at);
      subtract_mean(values + at, to.put_block(at, values + at, kSignBlock));
    }
    if (at == count) return;
    float rest[kSignBlock] = {};
    __builtin_memcpy(rest, values + at, (count - at) * sizeof(float));
    subtract_mean(rest, to.put_block(at, rest, count - at));
    __builtin_memcpy(values + at, rest, (count - at) * sizeof(float));
  }

  static void add_signs(float* sum, const void* of_blocks, const void* bytes, std::size_t count,
                        float factor) noexcept {
    const char* const scales = static_cast<const char*>(of_blocks);
    const char* const signs = static_cast<const char*>(bytes);
    for (std::size_t at = 0; at < count; at += kSignBlock) {
      const std::size_t length = shorter(count - at, kSignBlock);
      const float scale = get(scales + at / kSignBlock * sizeof(float)) * factor;
      unsigned char bits[kSignBlock / 8] = {};
      __builtin_memcpy(bits, signs + at / 8, (length + 7) / 8);
      std::uint32_t of_numbers[kSignBlock];
      for (std::size_t i = 0; i < kSignBlock; i += kLanes)
        Machine::spread_signs(of_numbers + i, bits[i / 8] | std::uint32_t{bits[i / 8 + 1]} << 8U);
      float* const to = sum + at;
      read_ahead<kSignBlock>(to);
      for (std::size_t i = 0; i < length; ++i)
        to[i] = added(to[i], signed_by(scale, of_numbers[i]));
    }
  }

  static std::size_t select(std::uint32_t* places, std::size_t room, const float* values,
                            std::size_t count, std::uint32_t first, std::int32_t limit) noexcept {
    std::size_t found = 0;
    std::size_t at = 0;
    for (; count - at >= kTogether && room - found >= kTogether; at += kTogether) {
      for (std::size_t line = 0; line < kTogether / kLanes; ++line)
        read_pages_ahead(values, at / kLanes + line);
      found += Machine::append_large(places + found, values + at,
                                     first + static_cast<std::uint32_t>(at), limit);
    }
    for (; at < count; ++at) {
      if (magnitude(values[at]) < limit) continue;
      if (found == room) return room + 1;
      places[found++] = first + static_cast<std::uint32_t>(at);
    }
    return found;
  }

  static void drop_non_finite(float* values, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = magnitude(values[i]) < Format<float>::kInfinity ? values[i] : 0.0F;
  }

 private:
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kTogether = 64;       ///< The numbers of append_large.
  static constexpr std::size_t kBytesTogether = 32;  ///< The numbers of put_bytes.
  static constexpr std::size_t kLine = 64;           ///< The bytes of a cache line.
  static constexpr std::size_t kAhead = 4096;  ///< Bytes: they come while four blocks are encoded.

  /// Requests the memory to which the code of later blocks is written.
  template <std::size_t kBytes>
  static void write_ahead(char* to) noexcept {
    for (std::size_t byte = 0; byte < kBytes; byte += kLine)
      __builtin_prefetch(to + 4 * kBytes + byte, 1);
  }

  /// Requests the numbers that follow kAhead bytes after a block. CPUs do so by themselves only up
  /// to the end of a page. The address may be behind the last number.
  template <std::size_t kBlock>
  static void read_ahead(const float* block) noexcept {
    const char* const from = reinterpret_cast<const char*>(block) + kAhead;
    for (std::size_t byte = 0; byte < kBlock * sizeof(float); byte += kLine)
      __builtin_prefetch(from + byte);
  }

  /// Requests a line of the pages that follow the kPages pages at `values`, another one for each
  /// `line` of these. The pages take turns, because CPUs read several together faster than one
  /// after the other. Lines at the same place of their pages would share too few places in a cache.
  static void read_pages_ahead(const float* values, std::size_t line) noexcept {
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kPages = 8;
    constexpr std::size_t kLinesOfPage = kPage / kLine;
    constexpr std::size_t kApart = kLinesOfPage / kPages;
    const std::size_t page = line % kPages;
    const std::size_t in_page = (line / kPages + page * kApart) % kLinesOfPage;
    __builtin_prefetch(reinterpret_cast<const char*>(values) + (kPages + page) * kPage +
                       in_page * kLine);
  }

  /// The code of signs.
  struct SignCode {
    char* scales;
    char* signs;

    SignCode(void* code, std::size_t count) noexcept
        : scales(static_cast<char*>(code)),
          signs(scales + sizeof(float) * number_of_blocks(count, kSignBlock)) {}

    /// Writes the code of a block, and returns its scale.
    float put_block(std::size_t at, const float* block, std::size_t length) const noexcept {
      unsigned char bits[kSignBlock / 8];
      for (std::size_t i = 0; i < kSignBlock; i += kLanes) {
        const std::uint32_t of_lanes = Machine::sign_bits(block + i);
        bits[i / 8] = static_cast<unsigned char>(of_lanes & 0xffU);
        bits[i / 8 + 1] = static_cast<unsigned char>(of_lanes >> 8U);
      }
      const float scale = mean_magnitude(block, length);
      put(scales + at / kSignBlock * sizeof(float), scale);
      __builtin_memcpy(signs + at / 8, bits, (length + 7) / 8);
      return scale;
    }
  };

  /// Subtracts from each number what its sign and `scale` say; 0 if the rest is not finite.
  static void subtract_mean(float* block, float scale) noexcept {
    for (std::size_t i = 0; i < kSignBlock; ++i) {
      const std::uint32_t sign = __builtin_bit_cast(std::uint32_t, block[i]) & 0x80000000U;
      const float rest = block[i] - signed_by(scale, sign);
      block[i] = magnitude(rest) < Format<float>::kInfinity ? rest : 0.0F;
    }
  }

  static std::size_t shorter(std::size_t a, std::size_t b) noexcept { return a < b ? a : b; }
  static std::size_t number_of_blocks(std::size_t count, std::size_t block) noexcept {
    return (count + block - 1) / block;
  }
  static std::int32_t magnitude(float value) noexcept {
    return __builtin_bit_cast(std::int32_t, value) & 0x7fffffff;
  }
  static float quiet_nan() noexcept { return __builtin_bit_cast(float, Format<float>::kQuietNan); }
  static void put(char* to, float value) noexcept { __builtin_memcpy(to, &value, sizeof(value)); }
  static float get(const char* from) noexcept {
    float value;
    __builtin_memcpy(&value, from, sizeof(value));
    return value;
  }

  /// Adds; any NaN becomes the same one.
  static float added(float a, float b) noexcept {
    const float sum = a + b;
    return sum == sum ? sum : quiet_nan();
  }

  static float signed_by(float scale, std::uint32_t sign) noexcept {
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, scale) ^ sign);
  }

  /// Calls body(index, block, length) for each block; the last one is a copy with zeros behind it.
  template <std::size_t kBlock, class Body>
  static void for_each_block(const float* values, std::size_t count, Body body) noexcept {
    std::size_t at = 0;
    for (; count - at >= kBlock; at += kBlock) {
      read_ahead<kBlock>(values + at);
      body(at, values + at, kBlock);
    }
    if (at == count) return;
    float rest[kBlock] = {};
    __builtin_memcpy(rest, values + at, (count - at) * sizeof(float));
    body(at, static_cast<const float*>(rest), count - at);
  }

  template <std::size_t kBlock>
  static std::int32_t largest_magnitude(const float* block) noexcept {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const std::int32_t each = magnitude(block[i]);
      largest = each > largest ? each : largest;
    }
    return largest;
  }

  /// Returns a number whose bits all depend on `number` and the seed.
  static std::uint32_t random_bits(std::uint32_t number, std::uint64_t seed) noexcept {
    std::uint32_t bits = number + static_cast<std::uint32_t>(seed);
    bits = (bits ^ (bits >> 16U)) * 0x7feb352dU;
    bits = (bits ^ (bits >> 15U) ^ static_cast<std::uint32_t>(seed >> 32U)) * 0x846ca68bU;
    return bits ^ (bits >> 16U);
  }

  /// Rounds a block up or down at random, so that the expected value is the number itself. Returns
  /// the scale.
  static float round_block(std::int8_t* rounded, const float* block, std::uint32_t at,
                           std::uint64_t seed) noexcept {
    constexpr float kHighest = 127.0F;
    constexpr float kLeast = 0x1p-100F;  // Below this, scales would have fewer digits.
    const std::int32_t largest = largest_magnitude<kInt8Block>(block);
    const float highest = __builtin_bit_cast(float, largest);
    const bool is_finite = largest < Format<float>::kInfinity;
    if (!is_finite || highest < kLeast) {
      __builtin_memset(rounded, 0, kInt8Block);
      return is_finite ? 0.0F : quiet_nan();
    }
    const float factor = kHighest / highest;
    constexpr std::size_t kHalf = kInt8Block / 2;
    alignas(kLine) std::int32_t above[kInt8Block];  // The numbers from 1 to 255, for -127 to 127.
    for (std::size_t i = 0; i < kHalf; ++i) {       // A number of each half shares the random bits.
      const std::uint32_t bits = random_bits(at + static_cast<std::uint32_t>(i), seed);
      above[i] = rounded_by(bits >> 16U, block[i] * factor);
      above[kHalf + i] = rounded_by(bits & 0xffffU, block[kHalf + i] * factor);
    }
    for (std::size_t i = 0; i < kInt8Block; i += kBytesTogether)
      Machine::put_bytes(rounded + i, above + i);
    return highest / kHighest;
  }

  /// Adds 128 and random 16 bits behind the point, and rounds down: to 0 to 256.
  static std::int32_t rounded_by(std::uint32_t bits, float value) noexcept {
    const auto part = __builtin_bit_cast(float, 0x43000000U | bits);  // From 128 to below 129.
    return static_cast<std::int32_t>(value + part);
  }

  /// Returns the mean over the first `length` numbers; the others are 0. NaN if one is not finite.
  static float mean_magnitude(const float* block, std::size_t length) noexcept {
    constexpr float kPart = 0x1p-9F;  // Of each number, so that no sum overflows.
    static_assert(kSignBlock == 512);
    if (largest_magnitude<kSignBlock>(block) >= Format<float>::kInfinity) return quiet_nan();
    float sums[kLanes] = {};
    for (std::size_t i = 0; i < kSignBlock; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        sums[lane] += __builtin_bit_cast(float, magnitude(block[i + lane])) * kPart;
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
      for (std::size_t lane = 0; lane < half; ++lane)
        sums[lane] += sums[lane + half];
    return sums[0] / (static_cast<float>(length) * kPart);
  }
};

}  // namespace fastgpu::comm::loops
