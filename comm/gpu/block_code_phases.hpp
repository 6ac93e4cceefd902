// The codes whose numbers share a scale in blocks, int8 and 1bit, as a warp makes them: in phases,
// between which its threads wait for each other. A thread keeps nothing from phase to phase but
// what is in the warp's Scratch. Nothing here needs a GPU: a test plays the threads of each phase
// in turn. The bits are those of kernels/code_loops.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/gpu/code_map.hpp"
#include "comm/gpu/host_device.hpp"

namespace fastgpu::comm::gpu {

constexpr unsigned kThreadsOfTile = 32;  ///< The threads that share a tile: a warp.

FASTGPU_HOST_DEVICE inline std::int32_t largest_of(const std::int32_t* of_threads) noexcept {
  std::int32_t largest = 0;
  for (unsigned thread = 0; thread < kThreadsOfTile; ++thread)
    largest = of_threads[thread] > largest ? of_threads[thread] : largest;
  return largest;
}

/// An encoder of float32 numbers as whole ones from -127 to 127. It leaves the numbers unchanged.
struct EncodeInt8 {
  CodeMap map;
  const float* numbers;
  std::byte* code;
  std::uint64_t seed;

  static constexpr int kPhases = 2;
  struct Scratch {
    std::int32_t largest[kThreadsOfTile];
  };

  FASTGPU_HOST_DEVICE unsigned steps(std::uint64_t tile) const noexcept {
    return blocks_in_tile<kInt8Block>(map, tile);
  }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t tile, unsigned step, unsigned thread,
                              Scratch& scratch) const noexcept {
    const CodeBlock block = block_at<kInt8Block>(map, tile, step);
    const float* const from = numbers + block.number;
    const Four low = four_at(from, kFour * thread, block.length);
    const Four high = four_at(from, kHalf + kFour * thread, block.length);
    if constexpr (kPhase == 0)
      scratch.largest[thread] = larger(largest_in(low), largest_in(high));
    else
      round(block, thread, low, high, largest_of(scratch.largest));
  }

 private:
  static constexpr unsigned kHalf = kInt8Block / 2;
  static constexpr float kHighest = 127.0F;
  static constexpr float kLeast = 0x1p-100F;
  static_assert(kHalf == kFour * kThreadsOfTile);

  FASTGPU_HOST_DEVICE static std::int32_t larger(std::int32_t a, std::int32_t b) noexcept {
    return a > b ? a : b;
  }
  FASTGPU_HOST_DEVICE static std::int32_t largest_in(const Four& four) noexcept {
    std::int32_t largest = 0;
    FASTGPU_UNROLL
    for (unsigned k = 0; k < kFour; ++k)
      largest = larger(largest, magnitude_of(four.values[k]));
    return largest;
  }

  FASTGPU_HOST_DEVICE static std::uint32_t random_bits(std::uint32_t number,
                                                       std::uint64_t of_run) noexcept {
    std::uint32_t bits = number + static_cast<std::uint32_t>(of_run);
    bits = (bits ^ (bits >> 16U)) * 0x7feb352dU;
    bits = (bits ^ (bits >> 15U) ^ static_cast<std::uint32_t>(of_run >> 32U)) * 0x846ca68bU;
    return bits ^ (bits >> 16U);
  }

  FASTGPU_HOST_DEVICE static std::byte rounded_by(std::uint32_t bits, float value) noexcept {
    const float part = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-16F;
    const auto above = static_cast<std::int32_t>(value + (part + 128.0F));
    const std::int32_t at_least = above < 1 ? 1 : above;
    return static_cast<std::byte>((at_least > 255 ? 255 : at_least) - 128);
  }

  FASTGPU_HOST_DEVICE void round(const CodeBlock& block, unsigned thread, const Four& low,
                                 const Four& high, std::int32_t largest) const noexcept {
    const float highest = from_bits<float>(static_cast<std::uint32_t>(largest));
    const bool is_finite = largest < Format<float>::kInfinity;
    const bool is_used = is_finite && highest >= kLeast;
    if (thread == 0) {
      const float none = is_finite ? 0.0F : from_bits<float>(Format<float>::kQuietNan);
      put_float(code + block.scale, is_used ? highest / kHighest : none);
    }
    const float factor = is_used ? kHighest / highest : 0.0F;
    std::byte* const to = code + block.numbers + block.at;
    FASTGPU_UNROLL
    for (unsigned k = 0; k < kFour; ++k) {
      const unsigned i = kFour * thread + k;
      const std::uint32_t bits =
          random_bits(static_cast<std::uint32_t>(block.at) + i, seed ^ block.chance);
      const auto put = [&](unsigned place, std::uint32_t part, float value) {
        if (place < block.length)
          to[place] = is_used ? rounded_by(part, value * factor) : std::byte{0};
      };
      put(i, bits >> 16U, low.values[k]);
      put(kHalf + i, bits & 0xffffU, high.values[k]);
    }
  }
};

/// An adder of what int8 numbers stand for.
struct AddInt8 {
  CodeMap map;
  float* sum;
  const std::byte* code;

  static constexpr int kPhases = 1;
  struct Scratch {};

  FASTGPU_HOST_DEVICE unsigned steps(std::uint64_t tile) const noexcept {
    return blocks_in_tile<kInt8Block>(map, tile);
  }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t tile, unsigned step, unsigned thread,
                              Scratch&) const noexcept {
    const CodeBlock block = block_at<kInt8Block>(map, tile, step);
    const float scale = get_float(code + block.scale);
    const std::byte* const from = code + block.numbers + block.at;
    float* const to = sum + block.number;
    for (unsigned i = kFour * thread; i < block.length; i += kFour * kThreadsOfTile) {
      Four four = four_at(to, i, block.length);
      FASTGPU_UNROLL
      for (unsigned k = 0; k < kFour; ++k) {
        const auto number =
            static_cast<std::int8_t>(i + k < block.length ? from[i + k] : std::byte{0});
        four.values[k] = added(four.values[k], static_cast<float>(number) * scale);
      }
      put_four(to, i, block.length, four);
    }
  }
};

/// An encoder of signs with the mean magnitude of their block. It leaves in the numbers what these
/// do not carry.
struct EncodeSigns {
  CodeMap map;
  float* numbers;
  std::byte* code;

  static constexpr int kPhases = 4;
  static constexpr unsigned kColumns = 16;  ///< Sums are made in as many lanes as on a CPU.
  static constexpr unsigned kRows = kSignBlock / kColumns;
  static constexpr unsigned kRowLength = kColumns + 1;  ///< Rows and columns are in other banks.

  struct Scratch {
    float values[kRows * kRowLength];
    std::int32_t largest[kThreadsOfTile];
    float sums[kColumns];
    float scale;
  };

  FASTGPU_HOST_DEVICE unsigned steps(std::uint64_t tile) const noexcept {
    return blocks_in_tile<kSignBlock>(map, tile);
  }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t tile, unsigned step, unsigned thread,
                              Scratch& scratch) const noexcept {
    const CodeBlock block = block_at<kSignBlock>(map, tile, step);
    if constexpr (kPhase == 0)
      read(block, thread, scratch);
    else if constexpr (kPhase == 1)
      put_signs(block, thread, scratch);
    else if constexpr (kPhase == 2)
      put_scale(block, thread, scratch);
    else
      subtract(block, thread, scratch);
  }

 private:
  static constexpr float kPart = 0x1p-9F;
  static_assert(kRows == kThreadsOfTile && kSignBlock == 512);

  FASTGPU_HOST_DEVICE static unsigned place_of(unsigned i) noexcept {
    return i / kColumns * kRowLength + i % kColumns;
  }
  FASTGPU_HOST_DEVICE static float magnitude(float value) noexcept {
    return from_bits<float>(static_cast<std::uint32_t>(magnitude_of(value)));
  }

  FASTGPU_HOST_DEVICE void read(const CodeBlock& block, unsigned thread,
                                Scratch& scratch) const noexcept {
    std::int32_t largest = 0;
    for (unsigned i = thread; i < kSignBlock; i += kThreadsOfTile) {
      const float value = i < block.length ? numbers[block.number + i] : 0.0F;
      scratch.values[place_of(i)] = value;
      largest = magnitude_of(value) > largest ? magnitude_of(value) : largest;
    }
    scratch.largest[thread] = largest;
  }

  /// Each thread packs the signs of a row, and the first ones add up a column each.
  FASTGPU_HOST_DEVICE void put_signs(const CodeBlock& block, unsigned thread,
                                     Scratch& scratch) const noexcept {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < kColumns; ++i)
      bits |= bits_of(scratch.values[thread * kRowLength + i]) >> 31U << i;
    for (unsigned byte = 0; byte < kColumns / 8; ++byte) {
      const unsigned at = thread * (kColumns / 8) + byte;
      if (at < (block.length + 7) / 8)
        code[block.numbers + block.at / 8 + at] = static_cast<std::byte>(bits >> (8 * byte));
    }
    if (thread >= kColumns) return;
    float sum = 0;
    for (unsigned row = 0; row < kRows; ++row)
      sum += magnitude(scratch.values[row * kRowLength + thread]) * kPart;
    scratch.sums[thread] = sum;
  }

  FASTGPU_HOST_DEVICE void put_scale(const CodeBlock& block, unsigned thread,
                                     Scratch& scratch) const noexcept {
    if (thread != 0) return;
    float* const sums = scratch.sums;
    for (unsigned half = kColumns / 2; half > 0; half /= 2)
      for (unsigned column = 0; column < half; ++column)
        sums[column] += sums[column + half];
    const bool is_finite = largest_of(scratch.largest) < Format<float>::kInfinity;
    scratch.scale = is_finite ? sums[0] / (static_cast<float>(block.length) * kPart)
                              : from_bits<float>(Format<float>::kQuietNan);
    put_float(code + block.scale, scratch.scale);
  }

  FASTGPU_HOST_DEVICE void subtract(const CodeBlock& block, unsigned thread,
                                    const Scratch& scratch) const noexcept {
    for (unsigned i = thread; i < block.length; i += kThreadsOfTile) {
      const float value = scratch.values[place_of(i)];
      const float rest = value - signed_by(scratch.scale, bits_of(value) & 0x80000000U);
      numbers[block.number + i] = magnitude_of(rest) < Format<float>::kInfinity ? rest : 0.0F;
    }
  }
};

/// An adder of what signs stand for.
struct AddSigns {
  CodeMap map;
  float* sum;
  const std::byte* code;

  static constexpr int kPhases = 1;
  struct Scratch {};

  FASTGPU_HOST_DEVICE unsigned steps(std::uint64_t tile) const noexcept {
    return blocks_in_tile<kSignBlock>(map, tile);
  }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t tile, unsigned step, unsigned thread,
                              Scratch&) const noexcept {
    const CodeBlock block = block_at<kSignBlock>(map, tile, step);
    const float scale = get_float(code + block.scale);
    const std::byte* const signs = code + block.numbers + block.at / 8;
    float* const to = sum + block.number;
    for (unsigned i = thread; i < block.length; i += kThreadsOfTile) {
      const auto bit = static_cast<std::uint32_t>(signs[i / 8]) >> (i % 8) & 1U;
      to[i] = added(to[i], signed_by(scale, bit << 31U));
    }
  }
};

}  // namespace fastgpu::comm::gpu
