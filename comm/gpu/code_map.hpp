// The numbers that a codec encodes on a device: which run a warp works on, and where its code is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/gpu/host_device.hpp"
#include "comm/gpu/numbers.hpp"
#include "comm/gpu/tiles.hpp"
#include "comm/gpu/walk.hpp"
#include "comm/kernels/kernel_table.hpp"

namespace fastgpu::comm::gpu {

/// A run as kernels read it, beside its TiledTensor.
struct CodeRunOnDevice {
  std::uint64_t code = 0;    ///< The place of its code in bytes.
  std::uint64_t chance = 0;  ///< Becomes its seed together with that of a call.
  std::uint64_t wanted = 0;  ///< The numbers that are sent, by a codec of the largest.
};

/// The data by which a warp finds its numbers and their code; in the memory of its reader.
struct CodeMap {
  TileMap tiles;
  const CodeRunOnDevice* runs = nullptr;
  std::uint64_t count_of_runs = 0;
};

/// A part of a warp's tile whose numbers share a scale.
struct CodeBlock {
  std::uint64_t at = 0;       ///< The index of its first number in the run.
  std::uint64_t number = 0;   ///< The index of that number in the buffer.
  unsigned length = 0;        ///< 1 to the length of a block of this codec.
  std::uint64_t scale = 0;    ///< The place of its scale, in bytes.
  std::uint64_t numbers = 0;  ///< The place of what follows the scales of the run, in bytes.
  std::uint64_t chance = 0;
};

/// Returns the number of blocks in a tile.
template <std::uint64_t kBlock>
FASTGPU_HOST_DEVICE unsigned blocks_in_tile(const CodeMap& map, std::uint64_t tile) noexcept {
  static_assert(kTileElements % kBlock == 0);
  return static_cast<unsigned>((tile_at(map.tiles, tile).count + kBlock - 1) / kBlock);
}

template <std::uint64_t kBlock>
FASTGPU_HOST_DEVICE CodeBlock block_at(const CodeMap& map, std::uint64_t tile_number,
                                       unsigned step) noexcept {
  const Tile tile = tile_at(map.tiles, tile_number);
  const CodeRunOnDevice run = map.runs[tile.tensor];
  const std::uint64_t count = map.tiles.tensors[tile.tensor].count;
  const std::uint64_t in_tile = step * kBlock;
  const std::uint64_t left = tile.count - in_tile;
  const std::uint64_t at = tile.begin + in_tile;
  return {at,
          tile.packed + in_tile,
          static_cast<unsigned>(left < kBlock ? left : kBlock),
          run.code + at / kBlock * sizeof(float),
          run.code + (count + kBlock - 1) / kBlock * sizeof(float),
          run.chance};
}

// Codes have no alignment: their parts are written and read byte by byte.
FASTGPU_HOST_DEVICE inline void put_word(std::byte* to, std::uint32_t word) noexcept {
  for (unsigned i = 0; i < sizeof(word); ++i)
    to[i] = static_cast<std::byte>(word >> (8 * i));
}
FASTGPU_HOST_DEVICE inline void put_float(std::byte* to, float value) noexcept {
  put_word(to, bits_of(value));
}
FASTGPU_HOST_DEVICE inline std::uint32_t get_word(const std::byte* from) noexcept {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < sizeof(word); ++i)
    word |= static_cast<std::uint32_t>(from[i]) << (8 * i);
  return word;
}
FASTGPU_HOST_DEVICE inline float get_float(const std::byte* from) noexcept {
  return from_bits<float>(get_word(from));
}

/// Four numbers that one thread works on.
constexpr unsigned kFour = 4;
using Four = Vector<float, kFour>;

/// Returns the numbers of a block from `i` on; 0 behind its end.
FASTGPU_HOST_DEVICE inline Four four_at(const float* block, unsigned i, unsigned length) noexcept {
  if (i + kFour <= length && elements_before(block + i, kFour) == 0) return load<kFour>(block + i);
  Four four{};
  for (unsigned k = 0; k < kFour; ++k)
    four.values[k] = i + k < length ? block[i + k] : 0.0F;
  return four;
}

FASTGPU_HOST_DEVICE inline void put_four(float* block, unsigned i, unsigned length,
                                         const Four& four) noexcept {
  if (i + kFour <= length && elements_before(block + i, kFour) == 0) return store(block + i, four);
  for (unsigned k = 0; k < kFour; ++k)
    if (i + k < length) block[i + k] = four.values[k];
}

/// Returns scale or -scale.
FASTGPU_HOST_DEVICE inline float signed_by(float scale, std::uint32_t sign) noexcept {
  return from_bits<float>(bits_of(scale) ^ sign);
}

/// Adds; any NaN becomes the same one.
FASTGPU_HOST_DEVICE inline float added(float a, float b) noexcept {
  return one_nan(a + b);
}

}  // namespace fastgpu::comm::gpu
