// The kernels of codes, played on the CPU and compared with the CPU's own codecs bit by bit.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "comm/codecs/top_k.hpp"
#include "comm/gpu/block_code_phases.hpp"
#include "comm/gpu/largest_phases.hpp"
#include "gpu/warp.hpp"

namespace fastgpu::comm::gpu {
namespace {

using test::play_phases;
using test::Turn;
using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kSeed = 0x0123456789abcdef;

/// Runs one after the other, with gaps between their numbers and between their codes.
struct CodedRuns {
  CodedRuns(const CodecChoice& choice, std::span<const std::size_t> counts, std::size_t gap)
      : codec(make_codec(choice)) {
    std::vector<PlacedTensor> placed;
    std::size_t at = gap;
    std::size_t code = gap;
    for (const std::size_t count : counts) {
      const std::size_t wanted = choice.part > 0 ? TopK(choice.part).entries(count) : 0;
      placed.push_back({{nullptr, count}, at});
      stretches.push_back({at, count, code, 0x9e3779b97f4a7c15U * (at + 1)});
      runs.push_back({code, stretches.back().chance, wanted});
      at += count + gap;
      code += codec->encoded_bytes(count) + gap;
    }
    numbers = at;
    bytes = code;
    tiles = tiled(placed);
    counts_of_digits.resize(counts.size() * kDigitValues);
    limits.resize(counts.size());
    tallies.resize(tiles.tensor_of_tile.size());
  }

  CodeMap map() const { return {tiles.map(), runs.data(), runs.size()}; }
  LargestState largest() { return {counts_of_digits.data(), limits.data(), tallies.data()}; }

  std::unique_ptr<const Codec> codec;
  std::vector<CodeStretch> stretches;
  std::vector<CodeRunOnDevice> runs;
  TiledList tiles;
  std::size_t numbers = 0;
  std::size_t bytes = 0;
  std::vector<std::uint32_t> counts_of_digits;
  std::vector<LimitOfRun> limits;
  std::vector<TallyOfTile> tallies;
};

template <int kDigit>
void play_digit(CodedRuns& runs, const float* numbers, Turn turn) {
  const CodeMap map = runs.map();
  play_phases(map.tiles.tiles, CountDigit<kDigit>{map, numbers, runs.largest()}, turn);
  play_phases(map.count_of_runs, PickDigit<kDigit>{map, runs.largest()}, turn);
}

/// Does what gpu::encode does.
void play_encoding(CodecId codec, CodedRuns& runs, Floats& numbers, Bytes& code, Turn turn) {
  const CodeMap map = runs.map();
  const std::uint64_t tiles = map.tiles.tiles;
  if (codec == CodecId::int8)
    return play_phases(tiles, EncodeInt8{map, numbers.data(), code.data(), kSeed}, turn);
  if (codec == CodecId::one_bit)
    return play_phases(tiles, EncodeSigns{map, numbers.data(), code.data()}, turn);
  play_digit<0>(runs, numbers.data(), turn);
  play_digit<1>(runs, numbers.data(), turn);
  play_digit<2>(runs, numbers.data(), turn);
  play_digit<3>(runs, numbers.data(), turn);
  const LargestState state = runs.largest();
  play_phases(tiles, TallyLargest{map, numbers.data(), state}, turn);
  play_phases(map.count_of_runs, PlaceLargest{map, state, code.data()}, turn);
  play_phases(tiles, WriteLargest{map, numbers.data(), state, code.data()}, turn);
}

void play_addition(CodecId codec, const CodedRuns& runs, Floats& sum, const Bytes& code,
                   Turn turn) {
  const CodeMap map = runs.map();
  if (codec == CodecId::int8)
    play_phases(map.tiles.tiles, AddInt8{map, sum.data(), code.data()}, turn);
  else if (codec == CodecId::one_bit)
    play_phases(map.tiles.tiles, AddSigns{map, sum.data(), code.data()}, turn);
  else
    play_phases(map.tiles.tiles, AddLargest{map, sum.data(), code.data()}, turn);
}

/// The codecs' own results, in the same places.
void encode_on_host(const CodecChoice& choice, const CodedRuns& runs, Floats& numbers,
                    Bytes& code) {
  for (const CodeStretch& each : runs.stretches) {
    const std::span values = std::span(numbers).subspan(each.at, each.count);
    const std::span to = std::span(code).subspan(each.code, runs.codec->encoded_bytes(each.count));
    if (entry_of(choice.id).has_feedback)
      runs.codec->encode_with_feedback(to, values, kSeed ^ each.chance);
    else
      runs.codec->encode(to, values, kSeed ^ each.chance);
  }
}

void add_on_host(const CodedRuns& runs, Floats& sum, const Bytes& code) {
  for (const CodeStretch& each : runs.stretches)
    runs.codec->add(std::span(sum).subspan(each.at, each.count),
                    std::span(code).subspan(each.code, runs.codec->encoded_bytes(each.count)), 1);
}

std::vector<std::uint32_t> float_bits(const Floats& numbers) {
  std::vector<std::uint32_t> bits(numbers.size());
  std::memcpy(bits.data(), numbers.data(), numbers.size() * sizeof(float));
  return bits;
}

/// The kinds of numbers that codecs meet.
enum class Kind { uneven, equal, few_values, some_not_finite, any_bits };

Floats numbers_of(Kind kind, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  constexpr float kNotFinite[] = {std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity()};
  Floats numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = normal(random) * std::exp2(static_cast<float>(i / 300 % 20) - 10.0F);
    if (kind == Kind::equal) numbers[i] = i % 3 == 0 ? -2.0F : 2.0F;
    if (kind == Kind::few_values)
      numbers[i] = static_cast<float>(static_cast<int>(random() % 5)) - 2;
    if (kind == Kind::some_not_finite && random() % 400 == 0) numbers[i] = kNotFinite[random() % 3];
    if (kind == Kind::any_bits)
      numbers[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  }
  return numbers;
}

constexpr std::size_t kManyCounts[] = {1,   2,    31,   255,  256,  257,   511,   512, 513,
                                       700, 2047, 2048, 2049, 5000, 65536, 70000, 3};
const CodecChoice kChoices[] = {{CodecId::int8},
                                {CodecId::one_bit},
                                {CodecId::top_k, 0.01},
                                {CodecId::top_k, 0.5},
                                {CodecId::top_k, 1e-6}};

TEST_SUITE_BEGIN("gpu/codes");

TEST_CASE("codes and what they leave have the CPU's bits, whatever thread is first") {
  for (const CodecChoice& choice : kChoices)
    for (const Kind kind :
         {Kind::uneven, Kind::equal, Kind::few_values, Kind::some_not_finite, Kind::any_bits})
      for (const std::size_t gap : {0, 1, 3}) {
        CAPTURE(text_of(choice));
        CAPTURE(static_cast<int>(kind));
        CAPTURE(gap);
        CodedRuns runs(choice, kManyCounts, gap);
        const Floats given = numbers_of(kind, runs.numbers, 7);
        Floats expected = given;
        Bytes expected_code(runs.bytes, std::byte{0x55});
        encode_on_host(choice, runs, expected, expected_code);
        for (const Turn turn : {Turn::ascending, Turn::descending}) {
          Floats numbers = given;
          Bytes code(runs.bytes, std::byte{0x55});
          play_encoding(choice.id, runs, numbers, code, turn);
          CHECK(code == expected_code);
          CHECK(float_bits(numbers) == float_bits(expected));
        }
      }
}

TEST_CASE("what codes stand for is added to the CPU's bits") {
  for (const CodecChoice& choice : kChoices)
    for (const Kind kind : {Kind::uneven, Kind::some_not_finite, Kind::any_bits})
      for (const std::size_t gap : {0, 1, 2}) {
        CAPTURE(text_of(choice));
        CAPTURE(static_cast<int>(kind));
        CAPTURE(gap);
        const CodedRuns runs(choice, kManyCounts, gap);
        Floats values = numbers_of(kind, runs.numbers, 11);
        Bytes code(runs.bytes);
        encode_on_host(choice, runs, values, code);
        const Floats before = numbers_of(Kind::uneven, runs.numbers, 13);
        Floats expected = before;
        add_on_host(runs, expected, code);
        for (const Turn turn : {Turn::ascending, Turn::descending}) {
          Floats sum = before;
          play_addition(choice.id, runs, sum, code, turn);
          CHECK(float_bits(sum) == float_bits(expected));
        }
      }
}

TEST_CASE("a selection leaves its memory ready for the next one") {
  const CodecChoice choice{CodecId::top_k, 0.02};
  CodedRuns runs(choice, kManyCounts, 1);
  for (unsigned round = 0; round < 3; ++round) {
    Floats numbers = numbers_of(Kind::uneven, runs.numbers, round);
    Floats expected = numbers;
    Bytes code(runs.bytes), expected_code(runs.bytes);
    encode_on_host(choice, runs, expected, expected_code);
    play_encoding(choice.id, runs, numbers, code, Turn::ascending);
    CHECK(code == expected_code);
    CHECK(runs.counts_of_digits == std::vector<std::uint32_t>(runs.counts_of_digits.size()));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::gpu
