#include "comm/gradients/codec_advice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace fastgpu::comm {
namespace {

const CodecCost kCosts[] = {{"fp16", 0.5, 0.5e-9}, {"int8", 0.25, 1e-9}, {"1bit", 0.03, 2e-9}};
constexpr double kGigabit = 125e6;

TEST_SUITE_BEGIN("comm/codec_advice");

TEST_CASE("on a slow network the codec with the shortest step is recommended") {
  // 100 MB take 0.8 s; the codecs take 0.05, 0.1 and 0.2 s of their own.
  const PlainStep step{.seconds = 1, .waited = 0.8, .bytes = 100e6, .bytes_per_second = kGigabit};
  const auto advice = advised_codec(step, kCosts);
  REQUIRE(advice);
  CHECK(advice->wire == "1bit");
  CHECK(advice->seconds == doctest::Approx(1 - 0.97 * 0.8 + 0.2));
  const std::string sentence = sentence_of(*advice, step);
  CHECK(sentence.find("FASTGPU_COMM_WIRE=1bit") != std::string::npos);
  CHECK(sentence.find("0.424 s instead of 1 s") != std::string::npos);
}

TEST_CASE("an exchange that hides behind the program's work needs no codec") {
  CHECK_FALSE(advised_codec(
      {.seconds = 1, .waited = 0.05, .bytes = 100e6, .bytes_per_second = kGigabit}, kCosts));
}

TEST_CASE("on a fast network no codec pays") {
  CHECK_FALSE(advised_codec(
      {.seconds = 0.1, .waited = 0.05, .bytes = 100e6, .bytes_per_second = 100 * kGigabit},
      kCosts));
  CHECK_FALSE(
      advised_codec({.seconds = 1, .waited = 1, .bytes = 1, .bytes_per_second = 0}, kCosts));
}

TEST_CASE("a codec saves no more than the program waits") {
  const auto advice = advised_codec(
      {.seconds = 1, .waited = 0.3, .bytes = 100e6, .bytes_per_second = kGigabit}, kCosts);
  REQUIRE(advice);
  CHECK(advice->wire == "fp16");
  CHECK(advice->seconds == doctest::Approx(0.75));
}

TEST_CASE("costs are measured, and sparse codes go to every node") {
  const auto costs = measured_costs(8);
  CHECK(std::ranges::all_of(costs, [](const auto& cost) { return cost.seconds_per_byte > 0; }));
  const auto part_of = [](const std::string& wire, const std::vector<CodecCost>& of) {
    return std::ranges::find(of, wire, &CodecCost::wire)->part;
  };
  CHECK(part_of("int8", costs) < 0.26);
  CHECK(part_of("int8", costs) == part_of("int8", measured_costs(2)));
  CHECK(part_of("topk:0.01", costs) ==
        doctest::Approx(4 * part_of("topk:0.01", measured_costs(2))));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
