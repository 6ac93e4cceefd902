#include "cli/workflows/metric_curve.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/metric_curve");

TEST_CASE("each measure has its curve, and what is no number is left out") {
  MetricCurves curves;
  curves.add(1, "epoch 1 loss 3 acc 0.1");
  curves.add(2, "saving");
  curves.add(3, "epoch 2 loss nan acc 0.2");
  curves.add(4, "epoch 3 loss 1.5");
  const auto found = curves.curves();
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "loss");
  CHECK(found[0].points == std::vector<MetricPoint>{{1, 3}, {4, 1.5}});
  CHECK(found[1].name == "acc");
  CHECK(found[1].points == std::vector<MetricPoint>{{1, 0.1}, {3, 0.2}});
}

TEST_CASE("a long curve keeps points at equal distances, the first included") {
  MetricCurves curves;
  for (int i = 0; i < 100'000; ++i)
    curves.add(i, "loss " + std::to_string(i));
  const auto points = curves.curves().front().points;
  CHECK(points.size() > 300);
  CHECK(points.size() <= 600);
  const auto distance = points[1].time;
  for (std::size_t i = 0; i < points.size(); ++i) {
    REQUIRE(points[i].time == static_cast<std::int64_t>(i) * distance);
    REQUIRE(points[i].value == static_cast<double>(points[i].time));
  }
}

TEST_CASE("the number of curves is bounded") {
  MetricCurves curves;
  for (int i = 0; i < 1'000; ++i)
    curves.add(i, "loss_" + std::to_string(i) + " 1");
  CHECK(curves.curves().size() == 6);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
