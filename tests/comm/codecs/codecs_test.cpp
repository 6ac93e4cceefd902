// What every codec promises, against references in float64; and what it does with bytes from
// others.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "comm/codecs/codec_table.hpp"
#include "comm/codecs/top_k.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using Bytes = std::vector<std::byte>;
using Numbers = std::vector<float>;

constexpr std::size_t kCounts[] = {0, 1, 3, 17, 256, 511, 513, 4099, 65'536, 65'537, 140'001};
const CodecChoice kChoices[] = {
    {CodecId::int8}, {CodecId::one_bit}, {CodecId::top_k, 0.01}, {CodecId::top_k, 0.3}};

Numbers random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  Numbers numbers(count);
  for (float& number : numbers)
    number = normal(random);
  return numbers;
}

Bytes encoded(const Codec& codec, const Numbers& values, std::uint64_t seed = 1) {
  Bytes code(codec.encoded_bytes(values.size()));
  codec.encode(code, values, seed);
  return code;
}

Numbers decoded(const Codec& codec, const Bytes& code, std::size_t count) {
  Numbers values(count);
  codec.add(values, code, 1);
  return values;
}

double wide(float value) {
  return static_cast<double>(value);
}

TEST_SUITE_BEGIN("comm/codecs");

TEST_CASE("error feedback loses nothing: what was sent and what is left are the gradients' sum") {
  constexpr int kSteps = 30;
  for (const CodecChoice& choice : kChoices)
    for (const std::size_t count : kCounts) {
      const auto codec = make_codec(choice);
      std::vector<double> gradients(count);
      std::vector<double> sent(count);
      Numbers residual(count);
      for (unsigned step = 0; step < kSteps; ++step) {
        const Numbers gradient = random_numbers(count, step);
        Numbers values = gradient;
        for (std::size_t i = 0; i < count; ++i)
          values[i] += residual[i];
        Bytes code(codec->encoded_bytes(count));
        codec->encode_with_feedback(code, values, step);
        residual = values;
        const Numbers now = decoded(*codec, code, count);
        for (std::size_t i = 0; i < count; ++i) {
          gradients[i] += wide(gradient[i]);
          sent[i] += wide(now[i]);
        }
      }
      double most = 0;
      for (std::size_t i = 0; i < count; ++i)
        most = std::max(most, std::abs(gradients[i] - sent[i] - wide(residual[i])));
      CAPTURE(entry_of(choice.id).name);
      CAPTURE(count);
      CHECK(most <= kSteps * 2e-5);  // Rounding: 2^-24 of numbers up to about 100.
    }
}

TEST_CASE("the same numbers and seed give the same bytes, and int8 others with another seed") {
  for (const CodecChoice& choice : kChoices) {
    const auto codec = make_codec(choice);
    const Numbers values = random_numbers(1000, 4);
    CHECK(encoded(*codec, values, 7) == encoded(*codec, values, 7));
    CHECK((encoded(*codec, values, 7) != encoded(*codec, values, 8)) ==
          (choice.id == CodecId::int8));
  }
}

TEST_CASE("a code with ranges is decoded range by range to the same bits") {
  for (const CodecChoice& choice : kChoices)
    for (const std::size_t count : kCounts) {
      const auto codec = make_codec(choice);
      if (!codec->has_ranges()) continue;
      const Bytes code = encoded(*codec, random_numbers(count, 4));
      Numbers values(count);
      for (std::size_t first = 0; first < count; first += kCodeRange)
        codec->add_range(std::span(values).subspan(first, std::min(kCodeRange, count - first)),
                         code, count, first);
      CAPTURE(entry_of(choice.id).name);
      CAPTURE(count);
      CHECK(values == decoded(*codec, code, count));
    }
}

TEST_CASE("codes are as short as they should be") {
  constexpr std::size_t kMany = 1 << 20;
  const auto part = [](const CodecChoice& choice) {
    return static_cast<double>(make_codec(choice)->encoded_bytes(kMany)) / (4.0 * kMany);
  };
  CHECK(part({CodecId::int8}) < 0.255);
  CHECK(part({CodecId::one_bit}) < 0.034);
  CHECK(part({CodecId::top_k, 0.01}) < 0.0101);
}

TEST_CASE("the largest numbers are exactly the largest, the first of equal ones") {
  std::mt19937 random(3);
  for (const std::size_t count : kCounts) {
    if (count == 0) continue;
    for (const int kind : {0, 1, 2, 3}) {
      Numbers values = random_numbers(count, static_cast<unsigned>(count));
      for (std::size_t i = 0; i < count; ++i) {
        if (kind == 1) values[i] = static_cast<float>(random() % 3) - 1;  // Many equal ones.
        if (kind == 2) values[i] = i < count / 100 ? 5.0F : 0.0F;         // A sample sees few.
        if (kind == 3) values[i] = static_cast<float>(i);
      }
      for (const std::size_t wanted :
           {std::size_t{1}, (count + 99) / 100, (count + 2) / 3, count}) {
        std::vector<std::uint32_t> order(count);
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::stable_sort(order, std::greater(),
                                 [&](std::uint32_t i) { return std::abs(values[i]); });
        order.resize(wanted);
        std::ranges::sort(order);
        const PlacedNumbers found = largest(values, wanted);
        CHECK(std::ranges::equal(found.places(), order));
        CHECK(std::ranges::equal(found.numbers(), order, {}, {},
                                 [&](std::uint32_t place) { return values[place]; }));
        Numbers left = values;
        const PlacedNumbers taken = take_largest(left, wanted);
        CHECK(std::ranges::equal(taken.places(), order));
        CHECK(std::ranges::equal(taken.numbers(), found.numbers()));
        Numbers expected = values;
        for (const std::uint32_t place : order)
          expected[place] -= to_float(to_bfloat16(values[place]));
        CHECK(left == expected);
      }
    }
  }
}

TEST_CASE("what a code does not carry is left, as a decoder would find it") {
  for (const CodecChoice& choice : {CodecChoice{CodecId::int8}, CodecChoice{CodecId::one_bit},
                                    CodecChoice{CodecId::top_k, 0.01}})
    for (const std::size_t count : kCounts)
      for (const std::size_t bad : {0, 1, 40}) {
        const auto codec = make_codec(choice);
        Numbers values = random_numbers(count, 21);
        for (std::size_t i = 0; i < std::min(bad, count); ++i)
          values[i * 7 % count] = i % 2 == 0 ? std::numeric_limits<float>::infinity()
                                             : std::numeric_limits<float>::quiet_NaN();
        Numbers rest = values;
        std::vector<std::byte> code(codec->encoded_bytes(count)), expected(code.size());
        codec->encode(expected, values, 5);
        codec->add(rest, expected, -1);
        for (float& each : rest)
          if (!std::isfinite(each)) each = 0;
        codec->encode_with_feedback(code, values, 5);
        CHECK(code == expected);
        CHECK(values == rest);
      }
}

TEST_CASE("the largest numbers arrive as bfloat16, and the others not at all") {
  const TopK codec(0.01);
  for (const std::size_t count : {std::size_t{1}, std::size_t{999}, std::size_t{140'001}}) {
    const Numbers values = random_numbers(count, 8);
    const Numbers got = decoded(codec, encoded(codec, values), count);
    Numbers expected(count);
    const PlacedNumbers chosen = largest(values, codec.entries(count));
    for (const std::uint32_t i : chosen.places())
      expected[i] = to_float(to_bfloat16(values[i]));
    CHECK(got == expected);
  }
}

TEST_CASE("a code of the largest numbers and their rests are exactly these numbers") {
  const TopK codec(0.5);
  Numbers values;
  std::mt19937 random(19);
  while (values.size() < 20'000) {  // Of all sizes, from the smallest ones on.
    const auto bits = static_cast<std::uint32_t>(random());
    const float number = std::bit_cast<float>(bits);
    if (std::isfinite(number)) values.push_back(number);
  }
  constexpr float kHighest = std::numeric_limits<float>::max();
  values.front() = kHighest;  // Would be infinite if it were rounded to the nearest.
  values.back() = -kHighest;
  const Numbers given = values;
  Bytes code(codec.encoded_bytes(values.size()));
  codec.encode_with_feedback(code, values, 1);
  const Numbers got = decoded(codec, code, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(wide(got[i]) + wide(values[i]) == wide(given[i]));
    CHECK(std::isfinite(got[i]));
  }
  CHECK(got.front() == std::bit_cast<float>(0x7f7f0000U));
  CHECK(got.back() == -got.front());
}

TEST_CASE("NaN and infinity arrive as such, and leave no residual that is not finite") {
  for (const CodecChoice& choice : kChoices)
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      const auto codec = make_codec(choice);
      Numbers values = random_numbers(5000, 2);
      values[4321] = bad;
      Bytes code(codec->encoded_bytes(values.size()));
      codec->encode_with_feedback(code, values, 1);
      CHECK(!std::isfinite(decoded(*codec, code, values.size())[4321]));
      CHECK(std::ranges::all_of(values, [](float each) { return std::isfinite(each); }));
    }
}

/// A code of the largest of `count` numbers, with its parts as they are in memory.
struct ForgedTopK {
  std::size_t count;
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint16_t> places;

  std::string refusal() const {
    const TopK codec(0.0001);
    Bytes code(codec.encoded_bytes(count));
    std::memcpy(code.data(), numbers.data(), numbers.size() * 4);
    std::memcpy(code.data() + numbers.size() * 4, places.data(), places.size() * 2);
    Numbers sum(count);
    const Error e = test::failure_of([&] { codec.add(sum, code, 1); });
    CHECK(e.kind() == ErrorKind::remote);
    const Error checked = test::failure_of([&] { codec.check(code, count); });
    CHECK(checked.kind() == ErrorKind::remote);
    CHECK(std::string(checked.what()) == e.what());
    return e.what();
  }
};

TEST_CASE("entries that no encoder writes are refused") {
  const std::string prefix = "an invalid code of the largest numbers: ";
  // 70000 numbers are two stretches, of 65536 and 4464, and have 7 entries.
  CHECK(ForgedTopK{70'000, {8, 0}, {0, 1, 2, 3, 4, 5, 6}}.refusal() ==
        prefix + "more than 7 entries");
  CHECK(ForgedTopK{70'000, {4, 4}, {0, 1, 2, 3, 4, 5, 6}}.refusal() ==
        prefix + "more than 7 entries");
  CHECK(ForgedTopK{70'000, {4, 2}, {0, 1, 2, 3, 4, 5, 6}}.refusal() ==
        prefix + "6 entries instead of 7");
  CHECK(ForgedTopK{70'000, {4, 3}, {0, 1, 1, 3, 4, 5, 6}}.refusal() ==
        prefix + "place 1, where 2 to 65535 are possible");
  CHECK(ForgedTopK{70'000, {4, 3}, {0, 1, 2, 3, 4, 5, 4464}}.refusal() ==
        prefix + "place 4464, where 6 to 4463 are possible");
}

TEST_CASE("bytes by chance are decoded or refused, and never leave the memory") {
  std::mt19937 random(17);
  for (const CodecChoice& choice : kChoices)
    for (const std::size_t count : kCounts) {
      const auto codec = make_codec(choice);
      for (int round = 0; round < 20; ++round) {
        Bytes code = encoded(*codec, random_numbers(count, 1));
        for (int change = 0; change < 3 && !code.empty(); ++change)
          code[random() % code.size()] = static_cast<std::byte>(random() & 0xffU);
        bool is_valid = true;
        try {
          codec->check(code, count);
        } catch (const Error& e) {
          CHECK(e.kind() == ErrorKind::remote);
          is_valid = false;
        }
        try {
          decoded(*codec, code, count);
          CHECK(is_valid);
        } catch (const Error& e) {
          CHECK(e.kind() == ErrorKind::remote);
          CHECK_FALSE(is_valid);
        }
      }
    }
}

TEST_CASE("a warm-up begins with a quarter, or with all numbers as they are") {
  const auto part_at = [](std::uint64_t step, const char* text) {
    return strength_at(*codec_choice(text), step)->part;
  };
  const char* const text = "topk:0.01,momentum=0.9,warmup=90";
  CHECK(part_at(0, text) == 0.25);
  CHECK(part_at(29, text) == 0.25);
  CHECK(part_at(30, text) == 0.0625);
  CHECK(part_at(60, text) == 0.015625);
  CHECK(part_at(89, text) == 0.015625);
  CHECK(strength_at(*codec_choice(text), 90) == codec_choice("topk:0.01"));
  CHECK(part_at(0, "topk:0.4,warmup=10") == 0.4);
  CHECK(part_at(0, "topk:0.01") == 0.01);
  double before = 1;
  for (std::uint64_t step = 0; step < 8; ++step) {  // Fewer steps than stages are enough.
    const double part = part_at(step, "topk:0.0001,warmup=5");
    CHECK(part <= before);
    before = part;
  }
  CHECK(before == 0.0001);
  for (const char* const dense : {"int8,warmup=4", "1bit,warmup=4", "powersgd:2,warmup=4"}) {
    CHECK_FALSE(strength_at(*codec_choice(dense), 3));
    CHECK(strength_at(*codec_choice(dense), 4)->warmup == 0);
  }
}

TEST_CASE("codecs are found by name") {
  CHECK(codec_choice("int8") == CodecChoice{CodecId::int8});
  CHECK(codec_choice("1bit") == CodecChoice{CodecId::one_bit});
  CHECK(codec_choice("topk:0.25") == CodecChoice{CodecId::top_k, 0.25});
  CHECK(codec_choice("powersgd:4") == CodecChoice{.id = CodecId::power_sgd, .thin = 4});
  CHECK_FALSE(codec_choice("fp16"));
  CHECK(codec_names() == "int8, 1bit, topk:PART, powersgd:RANK");
  CHECK(codec_choice("topk:0.01,momentum=0.9,warmup=100") ==
        CodecChoice{.id = CodecId::top_k, .part = 0.01, .momentum = 0.9, .warmup = 100});
  CHECK(codec_choice("int8,warmup=5") == CodecChoice{.id = CodecId::int8, .warmup = 5});
  CHECK_FALSE(codec_choice("fp16,warmup=5"));
  for (const char* const text :
       {"int8", "1bit", "topk:0.01", "topk:0.5", "powersgd:64",
        "topk:0.001,momentum=0.9,warmup=100", "1bit,warmup=7", "topk:0.02,warmup=9,memory=0.01"})
    CHECK(text_of(*codec_choice(text)) == text);
  for (const char* const text : {"powersgd",
                                 "powersgd:0",
                                 "powersgd:65",
                                 "powersgd:x",
                                 "topk:0",
                                 "topk",
                                 "topk:0.6",
                                 "int8:4",
                                 "1bit:",
                                 "int8,",
                                 "int8,warmup",
                                 "int8,warmup=0",
                                 "int8,warmup=x",
                                 "int8,momentum=1",
                                 "int8,momentum=0",
                                 "int8,momentum=nan",
                                 "int8,momentum=0.9,momentum=0.8",
                                 "int8,warmup=3,warmup=3",
                                 "int8,speed=3",
                                 "int8,memory=0.01",
                                 "1bit,memory=0.01",
                                 "powersgd:4,memory=0.01",
                                 "topk:0.01,memory=0.011",
                                 "topk:0.01,memory=0",
                                 "topk:0.01,memory=nan",
                                 "topk:0.01,memory",
                                 "topk:0.01,memory=0.01,memory=0.01"})
    CHECK(test::failure_of([&] { codec_choice(text); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
