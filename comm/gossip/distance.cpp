#include "comm/gossip/distance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fastgpu::comm {
namespace {

double product_of(std::span<const double> one, std::span<const double> other) {
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

}  // namespace

void DistanceMeter::note(std::span<const float> numbers) {
  noted_.fill(0);
  add_to_sketch(noted_, numbers);
  has_note_ = true;
}

void DistanceMeter::take(std::span<const float> numbers) {
  Sketch now{};
  add_to_sketch(now, numbers);
  has_note_ = false;
  const std::span<double> sums(sums_);
  const auto at = sums.first<kSketchSums>();
  const auto update = sums.subspan<kSketchSums, kSketchSums>();
  for (std::size_t i = 0; i < kSketchSums; ++i) {
    at[i] = noted_[i];
    update[i] = now[i] - noted_[i];
  }
  sums_[2 * kSketchSums] = squared_length(at);
  sums_[2 * kSketchSums + 1] = squared_length(update);
  sums_[2 * kSketchSums + 2] = product_of(at, update);
}

GuardMeasure DistanceMeter::measure_of(const Sums& sums, int ranks) {
  Sums means = sums;
  for (double& mean : means)
    mean /= ranks;
  const std::span<const double> all(means);
  const auto at = all.first<kSketchSums>();
  const auto update = all.subspan<kSketchSums, kSketchSums>();
  GuardMeasure measure;
  measure.length = std::sqrt(squared_length(at));
  const auto root_of = [](double square) { return std::sqrt(std::max(square, 0.0)); };
  measure.distance = root_of(means[2 * kSketchSums] - squared_length(at));
  measure.movement = root_of(means[2 * kSketchSums + 1] - squared_length(update));
  const double product = means[2 * kSketchSums + 2] - product_of(at, update);
  const double lengths = measure.distance * measure.movement;
  measure.alignment = lengths > 0 ? std::clamp(product / lengths, -1.0, 1.0) : 0.0;
  return measure;
}

}  // namespace fastgpu::comm
