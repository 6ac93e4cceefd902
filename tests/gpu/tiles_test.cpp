#include "comm/gpu/tiles.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace fastgpu::comm::gpu {
namespace {

/// Tensors side by side in one array of bytes, with a random gap between them.
std::vector<Tensor> random_list(std::mt19937_64& random, std::vector<std::byte>& memory) {
  constexpr std::size_t kInteresting[] = {0, 1, 31, 2047, 2048, 2049, 4096, 10'000};
  std::vector<std::size_t> counts;
  std::size_t total = 0;
  for (std::size_t tensors = random() % 200; tensors > 0; --tensors) {
    counts.push_back(random() % 2 == 0 ? kInteresting[random() % 8] : random() % 9000);
    total += counts.back() + random() % 3;
  }
  memory.assign(total, std::byte{0});
  std::vector<Tensor> list;
  std::size_t at = 0;
  for (const std::size_t count : counts) {
    list.push_back({memory.data() + at, count});
    at += count;
  }
  return list;
}

TEST_SUITE_BEGIN("gpu/tiles");

TEST_CASE("every element of a list is in exactly one tile") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::byte> memory;
    const auto tensors = random_list(random, memory);
    const TiledList list = tiled(tensors);
    std::vector<int> packed(list.elements, 0);
    std::vector<std::uint64_t> next(tensors.size(), 0);
    bool is_in_order = true;
    for (std::uint64_t number = 0; number < list.map().tiles; ++number) {
      const Tile tile = tile_at(list.map(), number);
      is_in_order &= tile.begin == next[tile.tensor] && tile.data == tensors[tile.tensor].data;
      next[tile.tensor] += tile.count;
      for (std::uint64_t i = 0; i < tile.count; ++i)
        ++packed[tile.packed + i];
    }
    CHECK(is_in_order);
    for (std::size_t place = 0; place < tensors.size(); ++place)
      CHECK(next[place] == tensors[place].count);
    CHECK(packed == std::vector<int>(list.elements, 1));
  }
}

TEST_CASE("no tile is empty or longer than the others, whatever the tensors are") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::byte> memory;
    const TiledList list = tiled(random_list(random, memory));
    for (std::uint64_t number = 0; number < list.map().tiles; ++number) {
      const Tile tile = tile_at(list.map(), number);
      CHECK(tile.count >= 1);
      CHECK(tile.count <= kTileElements);
    }
  }
}

TEST_CASE("an array without a list is cut into the same tiles") {
  for (const std::uint64_t count : {0U, 1U, 2047U, 2048U, 2049U, 100'000U}) {
    std::uint64_t covered = 0;
    for (std::uint64_t tile = 0; tile < tiles_of(count); ++tile)
      covered += elements_in_tile(count, tile);
    CHECK(covered == count);
  }
}

TEST_CASE("places beyond four billion elements are counted right") {
  constexpr std::uint64_t kMany = 5'000'000'000;
  const std::vector<Tensor> tensors{{nullptr, kMany}, {nullptr, 3}};
  const TiledList list = tiled(tensors);
  const Tile last = tile_at(list.map(), list.map().tiles - 1);
  CHECK(last.packed == kMany);
  CHECK(last.count == 3);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::gpu
