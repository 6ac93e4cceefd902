// What the training examples have in common, apart from their communication.
#include "training.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "mlp.hpp"
#include "options.hpp"
#include "report.hpp"

namespace training {
namespace {

/// Two images of four pixels, of which one is dark.
Dataset two_images() {
  return {.width = 4, .brightest = 16, .pixels = {8, 16, 0, 4, 16, 1, 2, 3}, .classes = {4, 7}};
}

constexpr std::array<std::size_t, 2> kBoth{0, 1};

TEST_SUITE_BEGIN("comm/training");

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
  const Dataset data = two_images();
  Mlp model({4, 5, kClasses}, Random(3));
  model.differentiate(data, kBoth, 1, [](std::size_t) {});
  for (Parameter& parameter : model.parameters()) {
    for (const std::size_t i : {std::size_t{0}, parameter.values.size() - 1}) {
      constexpr float kStep = 1e-2F;
      const float at = parameter.values[i];
      parameter.values[i] = at + kStep;
      const double above = model.evaluate(data, kBoth).loss;
      parameter.values[i] = at - kStep;
      const double below = model.evaluate(data, kBoth).loss;
      parameter.values[i] = at;
      CAPTURE(parameter.name);
      CHECK(static_cast<double>(parameter.gradient[i]) ==
            doctest::Approx((above - below) / (2 * static_cast<double>(kStep))).epsilon(0.02));
    }
  }
}

TEST_CASE("gradients are told of once they are complete, the last layer first") {
  const Dataset data = two_images();
  Mlp model({4, 5, kClasses}, Random(3));
  std::vector<std::size_t> order;
  std::vector<std::vector<float>> seen(4);
  model.differentiate(data, kBoth, 1, [&](std::size_t parameter) {
    order.push_back(parameter);
    seen[parameter] = model.parameters()[parameter].gradient;
  });
  CHECK(order == std::vector<std::size_t>{3, 2, 1, 0});
  for (std::size_t i = 0; i < seen.size(); ++i)
    CHECK(seen[i] == model.parameters()[i].gradient);
}

TEST_CASE("a rank without samples has gradients of zero") {
  const Dataset data = two_images();
  Mlp model({4, 5, kClasses}, Random(3));
  model.differentiate(data, kBoth, 1, [](std::size_t) {});
  const Evaluation outcome = model.differentiate(data, {}, 1, [](std::size_t) {});
  CHECK(outcome.loss == 0);
  for (const Parameter& parameter : model.parameters())
    CHECK(parameter.gradient == std::vector<float>(parameter.gradient.size()));
}

TEST_CASE("parameters that differ in one bit have another hash") {
  Mlp model({4, kClasses}, Random(1));
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

TEST_CASE("a report has the curve of loss over seconds and bytes") {
  const TrainingResult result{
      .epochs = {{.number = 1, .loss = 2, .since_start = Seconds(0.5), .bytes = 1000},
                 {.number = 2, .loss = 1, .since_start = Seconds(1), .bytes = 2000}},
      .hashes = {5, 5},
      .wire = FGC_FLOAT16};
  const std::string json = json_of("fastgpu-test", result, {});
  CHECK(json.find("\"wire\": \"fp16\"") != std::string::npos);
  CHECK(json.find("{\"epoch\": 2, \"loss\": 1, \"accuracy\": 0, \"seconds\": 1.000, \"bytes\": "
                  "2000}]}") != std::string::npos);
}

TEST_CASE("options are read in both forms, and what is wrong is named") {
  const TrainingOptions defaults{.global_batch = 5, .data = "default.csv"};
  const std::vector<const char*> good{"--epochs=3", "--seed", "9", "--json"};
  const TrainingOptions options = parse_options(defaults, good);
  CHECK(options.epochs == 3);
  CHECK(options.seed == 9);
  CHECK(options.wants_json);
  CHECK(options.global_batch == 5);
  CHECK(options.data == "default.csv");
  for (const std::vector<const char*>& bad : {std::vector<const char*>{"--epochs", "0"},
                                              {"--epochs"},
                                              {"--global-batch=1e9"},
                                              {"--epoch", "3"},
                                              {"stray"}})
    CHECK_THROWS_AS(parse_options(defaults, bad), UsageError);
}

TEST_SUITE_END();

}  // namespace
}  // namespace training
