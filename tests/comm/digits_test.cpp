// The training example, apart from its communication.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "mlp.hpp"
#include "options.hpp"
#include "report.hpp"
#include "training.hpp"

namespace digits {
namespace {

std::string line_with(const std::string& first_pixel, const std::string& digit) {
  std::string line = first_pixel;
  for (std::size_t i = 1; i < kPixels; ++i)
    line += ",16";
  return line + "," + digit + "\n";
}

Samples parse(const std::string& text) {
  std::istringstream in(text);
  return read_samples(in, "test.csv");
}

double loss_at(Mlp& model, const Sample& sample) {
  return model.evaluate(sample).loss;
}

TEST_SUITE_BEGIN("comm/digits");

TEST_CASE("a line is 64 pixels and a digit") {
  const Samples samples = parse(line_with("8", "7"));
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].digit == 7);
  CHECK(samples[0].pixels[0] == 0.5F);
  CHECK(samples[0].pixels[63] == 1.0F);
}

TEST_CASE("a line that is something else is named by its number") {
  for (const std::string& bad :
       {line_with("17", "1"), line_with("-1", "1"), line_with("x", "1"), line_with("1", "10"),
        line_with("1", "1,1"), line_with("1", ""), std::string("1,2,3\n"), std::string("\n")}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH(parse(line_with("1", "1") + bad),
                      "test.csv:2: not 64 numbers from 0 to 16 and a digit");
  }
  CHECK_THROWS_WITH(parse(""), "test.csv has no samples");
}

TEST_CASE("a fifth of every digit is put aside, always the same") {
  const Samples all = load_samples(DIGITS_DATA);
  const Split first = split(all);
  const Split second = split(all);
  CHECK(all.size() == 1797);
  CHECK(first.training.size() + first.test.size() == all.size());
  CHECK(first.test.size() == 355);
  CHECK(first.test.front().pixels == second.test.front().pixels);
  CHECK(first.test.back().pixels == second.test.back().pixels);
}

TEST_CASE("the shares of a batch cover it and differ by at most one") {
  for (const int ranks : {1, 2, 3, 7, 100}) {
    std::size_t end = 10;
    for (int rank = 0; rank < ranks; ++rank) {
      const Range share = share_of({10, 74}, rank, ranks);
      CHECK(share.begin == end);
      CHECK(share.end - share.begin <= 64 / static_cast<std::size_t>(ranks) + 1);
      end = share.end;
    }
    CHECK(end == 74);
  }
}

TEST_CASE("the gradient is the slope of the loss") {
  Mlp model({kPixels, 5, kClasses}, Random(3));
  const Sample sample = parse(line_with("8", "4")).front();
  model.accumulate(sample, 1);
  for (Parameter& parameter : model.parameters()) {
    for (const std::size_t i : {std::size_t{0}, parameter.values.size() - 1}) {
      constexpr float kStep = 1e-2F;
      const float at = parameter.values[i];
      parameter.values[i] = at + kStep;
      const double above = loss_at(model, sample);
      parameter.values[i] = at - kStep;
      const double below = loss_at(model, sample);
      parameter.values[i] = at;
      CAPTURE(parameter.name);
      CHECK(static_cast<double>(parameter.gradient[i]) ==
            doctest::Approx((above - below) / (2 * static_cast<double>(kStep))).epsilon(0.02));
    }
  }
}

TEST_CASE("parameters that differ in one bit have another hash") {
  Mlp model({kPixels, kClasses}, Random(1));
  const std::uint64_t before = model.hash();
  model.parameters()[1].values[3] = std::nextafter(0.0F, 1.0F);
  CHECK(model.hash() != before);
}

TEST_CASE("the first rank with other parameters is named") {
  CHECK(equality_line({7, 7, 7}) == "parameters: equal on all 3 ranks (hash 0000000000000007)");
  CHECK(equality_line({7, 7, 8, 9}).find("rank 2 differs from rank 0") != std::string::npos);
  CHECK(first_different({7, 7, 8, 9}) == 2);
  CHECK_FALSE(first_different({7}));
}

TEST_CASE("options are read in both forms, and what is wrong is named") {
  const std::vector<const char*> good{"--epochs=3", "--seed", "9", "--data", "x.csv"};
  const Options options = parse_options(good);
  CHECK(options.epochs == 3);
  CHECK(options.seed == 9);
  CHECK(options.data == "x.csv");
  for (const std::vector<const char*>& bad : {std::vector<const char*>{"--epochs", "0"},
                                              {"--epochs"},
                                              {"--global-batch=1e9"},
                                              {"--epoch", "3"},
                                              {"stray"}})
    CHECK_THROWS_AS(parse_options(bad), UsageError);
}

TEST_SUITE_END();

}  // namespace
}  // namespace digits
