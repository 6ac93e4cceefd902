#include "cli/commands/tool/codec_gain.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cli/commands/tool/bench_comm_report.hpp"

namespace fastgpu::cli {
namespace {

using comm::bench::BenchResult;

constexpr double kGigabit = 125e6;  // Bytes per second.

BenchResult sum_over(double bytes_per_second, const std::string& transport = "") {
  return {.library = "fastgpu",
          .collective = "all_reduce",
          .dtype = "float32",
          .ranks = 2,
          .seconds = 16e6 / bytes_per_second,
          .transport = transport,
          .network_bytes = 16e6};
}

BenchResult by(const std::string& codec, double seconds, double bytes,
               const std::string& transport = "") {
  return {.library = "fastgpu",
          .collective = "gradients",
          .dtype = "float32",
          .ranks = 2,
          .seconds = seconds,
          .step = comm::bench::StepFigures{.model = "resnet50", .seconds = {seconds}},
          .transport = transport,
          .codec = codec,
          .network_bytes = bytes};
}

TEST_SUITE_BEGIN("cli/codec_gain");

TEST_CASE("a codec pays where the link takes longer for the saved bytes than the codec itself") {
  // Over 1 Gbit/s: 100 MB in 0.8 s and 0.1 s of its own; a quarter of the bytes, 0.4 s of its own.
  const auto gains =
      codec_gains({sum_over(kGigabit), by("same", 0.9, 100e6), by("int8", 0.6, 25e6)});
  REQUIRE(gains.size() == 2);
  CHECK_FALSE(gains[0].pays_below);
  CHECK(gains[1].speed_up.value() == doctest::Approx(1.5));
  CHECK(gains[1].pays_below.value() == doctest::Approx(75e6 / 0.3));
}

TEST_CASE("a codec that costs nothing pays on every link, and one that saves nothing on none") {
  const auto gains = codec_gains(
      {sum_over(kGigabit), by("same", 0.9, 100e6), by("fp16", 0.5, 50e6), by("1bit", 0.9, 100e6)});
  CHECK(gains[1].pays_below == std::numeric_limits<double>::infinity());
  CHECK(gains[2].pays_below == 0.0);
}

TEST_CASE("a codec that sends as much as none has no gain, whatever its steps took") {
  const BenchReport report{
      "demo",
      "bench-comm-1",
      {sum_over(kGigabit), by("same", 0.9, 100e6), by("powersgd:4", 0.8, 100.01e6)}};
  const auto gains = codec_gains(report.results);
  CHECK(gains[0].speed_up == 1.0);
  CHECK_FALSE(gains[1].speed_up);
  CHECK(gains[1].pays_below == 0.0);
  CHECK(text_of(report, Detail::usual, {}).str().find("800.0         -       never") !=
        std::string::npos);
  CHECK_FALSE(view_of(report).root["results"][2].contains("speed_up"));
}

TEST_CASE("ranks of one node have no link to compare on") {
  BenchResult sum = sum_over(kGigabit);
  sum.network_bytes = 0;
  const auto gains = codec_gains({sum, by("same", 0.2, 0), by("int8", 0.4, 0)});
  CHECK(gains[1].speed_up.value() == doctest::Approx(0.5));
  CHECK_FALSE(gains[1].pays_below);
}

TEST_CASE("each transport has a link of its own") {
  const auto gains =
      codec_gains({sum_over(kGigabit, "tcp"), by("same", 0.9, 100e6, "tcp"),
                   by("int8", 0.6, 25e6, "tcp"), sum_over(10 * kGigabit, "fabric"),
                   by("same", 0.18, 100e6, "fabric"), by("int8", 0.42, 25e6, "fabric")});
  REQUIRE(gains.size() == 4);
  CHECK(gains[1].pays_below.value() == doctest::Approx(gains[3].pays_below.value()));
}

TEST_CASE("the table, the JSON and the page show the gains") {
  const BenchReport report{
      "demo",
      "bench-comm-1",
      {sum_over(kGigabit), by("same", 0.9, 100e6), by("int8", 0.6, 25e6), by("fp16", 0.5, 50e6)}};
  const std::string text = text_of(report, Detail::usual, {}).str();
  CHECK(text.find("CODEC    SENT(B)  TIME(ms)  SPEED-UP    PAYS BELOW\n") != std::string::npos);
  CHECK(text.find("same   100000000     900.0     1.000             -\n") != std::string::npos);
  CHECK(text.find("int8    25000000     600.0     1.500  2.000 Gbit/s\n") != std::string::npos);
  CHECK(text.find("fp16    50000000     500.0     1.800      any link\n") != std::string::npos);
  CHECK(text.find("network: 1.000 Gbit/s sent by the busiest node") != std::string::npos);
  CHECK(text.find("GRADIENTS") == std::string::npos);
  const View view = view_of(report);
  CHECK(view.root["results"][2]["codec"] == "int8");
  CHECK(view.root["results"][2]["network_bytes"] == 25e6);
  CHECK(view.root["results"][2]["pays_below_bits_per_second"].get<double>() ==
        doctest::Approx(2e9));
  CHECK(view.root["results"][3]["pays_on_any_link"] == true);
  CHECK_FALSE(view.root["results"][1].contains("pays_on_any_link"));
  CHECK(page_of(report).find("2.000 Gbit/s") != std::string::npos);
}

}  // namespace
}  // namespace fastgpu::cli
