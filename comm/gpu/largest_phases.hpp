// The code of the largest numbers (codecs/top_k.hpp), as warps make it, in phases like those of
// block_code_phases.hpp. The smallest magnitude that is sent is found digit by digit, from the
// highest on: exact, without sorting, and in as many passes as there are digits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/codecs/top_k.hpp"
#include "comm/gpu/block_code_phases.hpp"
#include "comm/gpu/code_map.hpp"
#include "comm/gpu/host_device.hpp"

namespace fastgpu::comm::gpu {

constexpr unsigned kDigitValues = 256;
/// The digits of a magnitude, which has 31 bits.
constexpr int kDigits = 4;
constexpr std::uint64_t kStretchElements = 65536;  ///< The numbers that 16 bits can count.
constexpr std::uint64_t kTilesOfStretch = kStretchElements / kTileElements;

/// The lowest bit of a digit; the last one has 7 bits.
FASTGPU_HOST_DEVICE constexpr unsigned shift_of(int digit) noexcept {
  return digit == kDigits - 1 ? 0U : 23U - 8U * static_cast<unsigned>(digit);
}
FASTGPU_HOST_DEVICE constexpr unsigned bits_of_digit(int digit) noexcept {
  return digit == kDigits - 1 ? 7U : 8U;
}

/// The limit of a run, as far as it is found.
struct LimitOfRun {
  std::uint32_t least = 0;  ///< The digits found, and at last the smallest magnitude that is sent.
  std::uint32_t left = 0;   ///< The numbers to be sent of those that have just these digits.
};

/// The numbers of a tile: at first those above the limit and equal to it. Then the entries of the
/// run before those of the tile, and the equal ones that are sent of it.
struct TallyOfTile {
  std::uint32_t above = 0;
  std::uint32_t equal = 0;
};

/// The memory of a selection, that of its kernels.
struct LargestState {
  std::uint32_t* counts = nullptr;  ///< kDigitValues for each run; 0 between selections.
  LimitOfRun* limits = nullptr;     ///< One for each run.
  TallyOfTile* tallies = nullptr;   ///< One for each tile.
};

FASTGPU_HOST_DEVICE inline void add_at(std::uint32_t* counter, std::uint32_t number) noexcept {
#ifdef __CUDA_ARCH__
  atomicAdd(counter, number);
#else
  *counter += number;
#endif
}
FASTGPU_HOST_DEVICE inline void set_bit(std::uint32_t* word, unsigned bit) noexcept {
#ifdef __CUDA_ARCH__
  atomicOr(word, 1U << bit);
#else
  *word |= 1U << bit;
#endif
}
FASTGPU_HOST_DEVICE inline unsigned number_of_bits(std::uint32_t word) noexcept {
#ifdef __CUDA_ARCH__
  return static_cast<unsigned>(__popc(word));
#else
  return static_cast<unsigned>(__builtin_popcount(word));
#endif
}

FASTGPU_HOST_DEVICE inline void put_half_word(std::byte* to, std::uint32_t bits) noexcept {
  to[0] = static_cast<std::byte>(bits);
  to[1] = static_cast<std::byte>(bits >> 8U);
}
FASTGPU_HOST_DEVICE inline std::uint32_t get_half_word(const std::byte* from) noexcept {
  return static_cast<std::uint32_t>(from[0]) | static_cast<std::uint32_t>(from[1]) << 8U;
}

FASTGPU_HOST_DEVICE inline std::uint32_t bits_of_magnitude(float value) noexcept {
  return static_cast<std::uint32_t>(magnitude_of(value));
}

/// A counter of the values of one digit, among the numbers that have the digits found before.
template <int kDigit>
struct CountDigit {
  CodeMap map;
  const float* numbers;
  LargestState state;

  static constexpr int kPhases = 3;
  struct Scratch {
    std::uint32_t counts[kDigitValues];
  };

  FASTGPU_HOST_DEVICE static unsigned steps(std::uint64_t) noexcept { return 1; }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t number, unsigned, unsigned thread,
                              Scratch& scratch) const noexcept {
    const Tile tile = tile_at(map.tiles, number);
    if constexpr (kPhase == 0)
      for (unsigned value = thread; value < kDigitValues; value += kThreadsOfTile)
        scratch.counts[value] = 0;
    else if constexpr (kPhase == 1)
      count(tile, thread, scratch);
    else
      add_up(tile, thread, scratch);
  }

 private:
  FASTGPU_HOST_DEVICE void add_up(const Tile& tile, unsigned thread,
                                  const Scratch& scratch) const noexcept {
    std::uint32_t* const of_run = state.counts + std::uint64_t{tile.tensor} * kDigitValues;
    for (unsigned value = thread; value < kDigitValues; value += kThreadsOfTile)
      if (scratch.counts[value] > 0) add_at(of_run + value, scratch.counts[value]);
  }

  FASTGPU_HOST_DEVICE void count(const Tile& tile, unsigned thread,
                                 Scratch& scratch) const noexcept {
    constexpr unsigned kShift = shift_of(kDigit);
    constexpr unsigned kBits = bits_of_digit(kDigit);
    const std::uint32_t known = kDigit == 0 ? 0 : state.limits[tile.tensor].least;
    for (std::uint64_t i = thread; i < tile.count; i += kThreadsOfTile) {
      const std::uint32_t magnitude = bits_of_magnitude(numbers[tile.packed + i]);
      if (kDigit > 0 && magnitude >> (kShift + kBits) != known) continue;
      add_at(scratch.counts + (magnitude >> kShift & ((1U << kBits) - 1)), 1);
    }
  }
};

/// A finder of one digit of a run's limit; it clears the counts. A tile is a run here.
template <int kDigit>
struct PickDigit {
  CodeMap map;
  LargestState state;

  static constexpr int kPhases = 2;
  struct Scratch {
    std::uint32_t counts[kDigitValues];
  };

  FASTGPU_HOST_DEVICE static unsigned steps(std::uint64_t) noexcept { return 1; }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t run, unsigned, unsigned thread,
                              Scratch& scratch) const noexcept {
    if constexpr (kPhase == 0)
      take(run, thread, scratch);
    else
      pick(run, thread, scratch);
  }

 private:
  FASTGPU_HOST_DEVICE void take(std::uint64_t run, unsigned thread,
                                Scratch& scratch) const noexcept {
    for (unsigned value = thread; value < kDigitValues; value += kThreadsOfTile) {
      std::uint32_t& of_run = state.counts[run * kDigitValues + value];
      scratch.counts[value] = of_run;
      of_run = 0;
    }
  }

  FASTGPU_HOST_DEVICE void pick(std::uint64_t run, unsigned thread,
                                const Scratch& scratch) const noexcept {
    if (thread != 0) return;
    LimitOfRun limit = state.limits[run];
    if constexpr (kDigit == 0) limit = {0, static_cast<std::uint32_t>(map.runs[run].wanted)};
    unsigned value = kDigitValues - 1;
    for (; value > 0 && scratch.counts[value] < limit.left; --value)
      limit.left -= scratch.counts[value];
    state.limits[run] = {limit.least << bits_of_digit(kDigit) | value, limit.left};
  }
};

/// A counter of the numbers of each tile that are above the limit and equal to it.
struct TallyLargest {
  CodeMap map;
  const float* numbers;
  LargestState state;

  static constexpr int kPhases = 2;
  struct Scratch {
    TallyOfTile of_threads[kThreadsOfTile];
  };

  FASTGPU_HOST_DEVICE static unsigned steps(std::uint64_t) noexcept { return 1; }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t number, unsigned, unsigned thread,
                              Scratch& scratch) const noexcept {
    TallyOfTile tally;
    if constexpr (kPhase == 0) {
      const Tile tile = tile_at(map.tiles, number);
      const std::uint32_t least = state.limits[tile.tensor].least;
      for (std::uint64_t i = thread; i < tile.count; i += kThreadsOfTile) {
        const std::uint32_t magnitude = bits_of_magnitude(numbers[tile.packed + i]);
        tally.above += magnitude > least;
        tally.equal += magnitude == least;
      }
      scratch.of_threads[thread] = tally;
    } else if (thread == 0) {
      for (const TallyOfTile& each : scratch.of_threads) {
        tally.above += each.above;
        tally.equal += each.equal;
      }
      state.tallies[number] = tally;
    }
  }
};

/// The step that gives each tile of a run its place in the code, and writes how many entries each
/// stretch has. A tile is a run here: each thread goes through a part of the run's tiles.
struct PlaceLargest {
  CodeMap map;
  LargestState state;
  std::byte* code;

  static constexpr int kPhases = 3;
  struct Scratch {
    TallyOfTile of_threads[kThreadsOfTile];
  };

  FASTGPU_HOST_DEVICE static unsigned steps(std::uint64_t) noexcept { return 1; }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t run, unsigned, unsigned thread,
                              Scratch& scratch) const noexcept {
    if constexpr (kPhase == 0)
      sum_up(part_of(run, thread), thread, scratch);
    else if constexpr (kPhase == 1)
      place(part_of(run, thread), thread, scratch, state.limits[run].left);
    else
      put_stretches(run, thread);
  }

 private:
  /// The tiles of one thread.
  struct TilesOfThread {
    TallyOfTile* first;
    TallyOfTile* end;
  };

  FASTGPU_HOST_DEVICE TilesOfThread part_of(std::uint64_t run, unsigned thread) const noexcept {
    const TiledTensor of_run = map.tiles.tensors[run];
    TallyOfTile* const tallies = state.tallies + of_run.first_tile;
    const std::uint64_t tiles = tiles_of(of_run.count);
    const std::uint64_t part = (tiles + kThreadsOfTile - 1) / kThreadsOfTile;
    const std::uint64_t begin = thread * part < tiles ? thread * part : tiles;
    const std::uint64_t end = begin + part < tiles ? begin + part : tiles;
    return {tallies + begin, tallies + end};
  }

  FASTGPU_HOST_DEVICE static void add(TallyOfTile& sum, const TallyOfTile& more) noexcept {
    sum.above += more.above;
    sum.equal += more.equal;
  }
  FASTGPU_HOST_DEVICE static std::uint32_t smaller(std::uint32_t a, std::uint32_t b) noexcept {
    return a < b ? a : b;
  }

  FASTGPU_HOST_DEVICE static void sum_up(const TilesOfThread& tiles, unsigned thread,
                                         Scratch& scratch) noexcept {
    TallyOfTile sum;
    for (const TallyOfTile* tile = tiles.first; tile != tiles.end; ++tile)
      add(sum, *tile);
    scratch.of_threads[thread] = sum;
  }

  FASTGPU_HOST_DEVICE static void place(const TilesOfThread& tiles, unsigned thread,
                                        const Scratch& scratch, std::uint32_t equal_sent) noexcept {
    TallyOfTile before;
    for (unsigned earlier = 0; earlier < thread; ++earlier)
      add(before, scratch.of_threads[earlier]);
    for (TallyOfTile* tile = tiles.first; tile != tiles.end; ++tile) {
      const TallyOfTile here = *tile;
      const std::uint32_t sent_before = smaller(before.equal, equal_sent);
      *tile = {before.above + sent_before, smaller(here.equal, equal_sent - sent_before)};
      add(before, here);
    }
  }

  FASTGPU_HOST_DEVICE void put_stretches(std::uint64_t run, unsigned thread) const noexcept {
    const CodeRunOnDevice of_run = map.runs[run];
    const TiledTensor tensor = map.tiles.tensors[run];
    const TallyOfTile* const tallies = state.tallies + tensor.first_tile;
    const std::uint64_t tiles = tiles_of(tensor.count);
    const std::uint64_t stretches = (tiles + kTilesOfStretch - 1) / kTilesOfStretch;
    for (std::uint64_t stretch = thread; stretch < stretches; stretch += kThreadsOfTile) {
      const std::uint64_t next = (stretch + 1) * kTilesOfStretch;
      const auto end =
          next < tiles ? tallies[next].above : static_cast<std::uint32_t>(of_run.wanted);
      put_word(code + of_run.code + stretch * sizeof(std::uint32_t),
               end - tallies[stretch * kTilesOfStretch].above);
    }
  }
};

/// The places of the three parts of a run's code.
struct LargestCode {
  std::uint64_t counts = 0;
  std::uint64_t places = 0;
  std::uint64_t values = 0;

  FASTGPU_HOST_DEVICE static LargestCode of(const CodeRunOnDevice& run,
                                            std::uint64_t count) noexcept {
    const std::uint64_t stretches = (count + kStretchElements - 1) / kStretchElements;
    const std::uint64_t places = run.code + stretches * sizeof(std::uint32_t);
    return {run.code, places, places + run.wanted * sizeof(std::uint16_t)};
  }
};

/// A writer of the entries of each tile. The rests of numbers that are sent are left, and all
/// others.
struct WriteLargest {
  CodeMap map;
  float* numbers;
  LargestState state;
  std::byte* code;

  static constexpr int kPhases = 4;
  static constexpr unsigned kRows = kTileElements / kThreadsOfTile;

  /// A row has a number for each thread: its bits are those of the numbers that count.
  struct Scratch {
    std::uint32_t above[kRows];
    std::uint32_t equal[kRows];
    TallyOfTile before[kRows];  ///< The bits in the rows before.
  };

  FASTGPU_HOST_DEVICE static unsigned steps(std::uint64_t) noexcept { return 1; }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t number, unsigned, unsigned thread,
                              Scratch& scratch) const noexcept {
    const Tile tile = tile_at(map.tiles, number);
    if constexpr (kPhase == 0)
      for (unsigned row = thread; row < kRows; row += kThreadsOfTile)
        scratch.above[row] = scratch.equal[row] = 0;
    else if constexpr (kPhase == 1)
      mark(tile, thread, scratch);
    else if constexpr (kPhase == 2)
      count(thread, scratch);
    else
      write(tile, state.tallies[number], thread, scratch);
  }

 private:
  FASTGPU_HOST_DEVICE void mark(const Tile& tile, unsigned thread,
                                Scratch& scratch) const noexcept {
    const std::uint32_t least = state.limits[tile.tensor].least;
    for (std::uint64_t i = thread; i < tile.count; i += kThreadsOfTile) {
      const std::uint32_t magnitude = bits_of_magnitude(numbers[tile.packed + i]);
      if (magnitude > least) set_bit(scratch.above + i / kThreadsOfTile, thread);
      if (magnitude == least) set_bit(scratch.equal + i / kThreadsOfTile, thread);
    }
  }

  FASTGPU_HOST_DEVICE static void count(unsigned thread, Scratch& scratch) noexcept {
    if (thread != 0) return;
    TallyOfTile before;
    for (unsigned row = 0; row < kRows; ++row) {
      scratch.before[row] = before;
      before.above += number_of_bits(scratch.above[row]);
      before.equal += number_of_bits(scratch.equal[row]);
    }
  }

  FASTGPU_HOST_DEVICE void write(const Tile& tile, const TallyOfTile& placed, unsigned thread,
                                 const Scratch& scratch) const noexcept {
    const CodeRunOnDevice run = map.runs[tile.tensor];
    const LargestCode parts = LargestCode::of(run, map.tiles.tensors[tile.tensor].count);
    const bool takes_non_finite_only =
        state.limits[tile.tensor].least >= static_cast<std::uint32_t>(Format<float>::kInfinity);
    const std::uint32_t lower = (1U << thread) - 1;
    for (std::uint64_t i = thread; i < tile.count; i += kThreadsOfTile) {
      const std::uint64_t row = i / kThreadsOfTile;
      float& number = numbers[tile.packed + i];
      const TallyOfTile before = scratch.before[row];
      const std::uint32_t equal_before = before.equal + number_of_bits(scratch.equal[row] & lower);
      const bool is_above = (scratch.above[row] >> thread & 1U) != 0;
      const bool is_equal = (scratch.equal[row] >> thread & 1U) != 0;
      if (is_above || (is_equal && equal_before < placed.equal)) {
        const std::uint64_t entry = placed.above + before.above +
                                    number_of_bits(scratch.above[row] & lower) +
                                    (equal_before < placed.equal ? equal_before : placed.equal);
        put(parts, entry, static_cast<std::uint32_t>((tile.begin + i) % kStretchElements), number);
        number = rest_of(number);
      } else if (takes_non_finite_only && magnitude_of(number) >= Format<float>::kInfinity) {
        number = 0;
      }
    }
  }

  FASTGPU_HOST_DEVICE void put(const LargestCode& parts, std::uint64_t entry, std::uint32_t place,
                               float number) const noexcept {
    put_half_word(code + parts.places + entry * sizeof(std::uint16_t), place);
    put_half_word(code + parts.values + entry * sizeof(BFloat16), carried_of(number).bits);
  }
};

/// An adder of the entries of a code that Codec::check has allowed. The tiles of a stretch share
/// its entries.
struct AddLargest {
  CodeMap map;
  float* sum;
  const std::byte* code;

  static constexpr int kPhases = 2;
  struct Scratch {
    std::uint64_t before[kThreadsOfTile];
  };

  FASTGPU_HOST_DEVICE static unsigned steps(std::uint64_t) noexcept { return 1; }

  template <int kPhase>
  FASTGPU_HOST_DEVICE void go(std::uint64_t number, unsigned, unsigned thread,
                              Scratch& scratch) const noexcept {
    const Tile tile = tile_at(map.tiles, number);
    const std::uint64_t stretch = tile.begin / kStretchElements;
    const std::uint64_t of_tensor = map.tiles.tensors[tile.tensor].count;
    const LargestCode parts = LargestCode::of(map.runs[tile.tensor], of_tensor);
    const auto entries_of = [&](std::uint64_t of) {
      return std::uint64_t{get_word(code + parts.counts + of * sizeof(std::uint32_t))};
    };
    std::uint64_t before = 0;
    if constexpr (kPhase == 0) {
      for (std::uint64_t earlier = thread; earlier < stretch; earlier += kThreadsOfTile)
        before += entries_of(earlier);
      scratch.before[thread] = before;
    } else {
      for (const std::uint64_t each : scratch.before)
        before += each;
      add(tile, parts, before, entries_of(stretch), thread);
    }
  }

 private:
  FASTGPU_HOST_DEVICE void add(const Tile& tile, const LargestCode& parts, std::uint64_t before,
                               std::uint64_t entries, unsigned thread) const noexcept {
    const std::uint64_t in_stretch = tile.begin % kStretchElements / kTileElements;
    float* const to = sum + (tile.packed - tile.begin % kStretchElements);
    const std::uint64_t of_tensor = map.tiles.tensors[tile.tensor].count;
    const std::uint64_t rest =
        (of_tensor - (tile.begin - tile.begin % kStretchElements) + kTileElements - 1) /
        kTileElements;
    const std::uint64_t sharing = rest < kTilesOfStretch ? rest : kTilesOfStretch;
    for (std::uint64_t i = in_stretch * kThreadsOfTile + thread; i < entries;
         i += sharing * kThreadsOfTile) {
      const std::uint32_t at =
          get_half_word(code + parts.places + (before + i) * sizeof(std::uint16_t));
      const auto number = static_cast<std::uint16_t>(
          get_half_word(code + parts.values + (before + i) * sizeof(BFloat16)));
      to[at] = added(to[at], to_float(BFloat16{number}));
    }
  }
};

}  // namespace fastgpu::comm::gpu
