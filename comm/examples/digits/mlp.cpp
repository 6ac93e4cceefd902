#include "mlp.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace digits {
namespace {

Parameter parameter(std::string name, std::size_t count) {
  const std::vector<float> zeros(count);
  return {std::move(name), zeros, zeros, zeros};
}

/// He's bound keeps the variance through ReLU layers.
float initial_limit(std::size_t inputs) {
  return std::sqrt(6.0F / static_cast<float>(inputs));
}

/// Turns scores into probabilities; the largest score is taken off first, so that no exp overflows.
void softmax(std::span<float> values) {
  const float largest = *std::ranges::max_element(values);
  float sum = 0;
  for (float& value : values)
    sum += value = std::exp(value - largest);
  for (float& value : values)
    value /= sum;
}

std::size_t argmax(std::span<const float> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

}  // namespace

Mlp::Mlp(std::vector<std::size_t> widths, Random random) : widths_(std::move(widths)) {
  for (const std::size_t width : widths_) {
    activations_.emplace_back(width);
    errors_.emplace_back(width);
  }
  for (std::size_t layer = 0; layer < layers(); ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    parameters_.push_back(parameter(name + ".weight", widths_[layer] * widths_[layer + 1]));
    for (float& value : parameters_.back().values)
      value = random.uniform(initial_limit(widths_[layer]));
    parameters_.push_back(parameter(name + ".bias", widths_[layer + 1]));
  }
}

Outcome Mlp::evaluate(const Sample& sample) {
  std::ranges::copy(sample.pixels, activations_.front().begin());
  for (std::size_t layer = 0; layer < layers(); ++layer)
    forward_layer(layer);
  const bool is_right = argmax(activations_.back()) == sample.digit;
  softmax(activations_.back());
  const float probability = std::max(activations_.back()[sample.digit], 1e-30F);
  return {-std::log(static_cast<double>(probability)), is_right};
}

Outcome Mlp::accumulate(const Sample& sample, float weight) {
  const Outcome outcome = evaluate(sample);
  for (std::size_t c = 0; c < kClasses; ++c) {
    const float target = c == sample.digit ? 1.0F : 0.0F;
    errors_.back()[c] = weight * (activations_.back()[c] - target);
  }
  for (std::size_t layer = layers(); layer > 0; --layer)
    backward_layer(layer - 1);
  return outcome;
}

// A weight array has one row per input, so that the inner loops run along memory. Half of the
// inputs are 0, dark pixels or what ReLU held back, and have nothing to add.

void Mlp::forward_layer(std::size_t layer) {
  const std::vector<float>& in = activations_[layer];
  std::vector<float>& out = activations_[layer + 1];
  const float* row = parameters_[2 * layer].values.data();
  out = parameters_[2 * layer + 1].values;
  for (std::size_t i = 0; i < in.size(); ++i, row += out.size()) {
    if (in[i] == 0) continue;
    for (std::size_t o = 0; o < out.size(); ++o)
      out[o] += row[o] * in[i];
  }
  if (layer + 1 == layers()) return;
  for (float& value : out)
    value = std::max(value, 0.0F);
}

void Mlp::backward_layer(std::size_t layer) {
  const std::vector<float>& in = activations_[layer];
  const std::vector<float>& error = errors_[layer + 1];
  const float* row = parameters_[2 * layer].values.data();
  float* gradient = parameters_[2 * layer].gradient.data();
  for (std::size_t o = 0; o < error.size(); ++o)
    parameters_[2 * layer + 1].gradient[o] += error[o];
  for (std::size_t i = 0; i < in.size(); ++i, row += error.size(), gradient += error.size()) {
    errors_[layer][i] = 0;  // ReLU passes nothing back where it passed nothing on.
    if (in[i] == 0) continue;
    for (std::size_t o = 0; o < error.size(); ++o)
      gradient[o] += error[o] * in[i];
    if (layer > 0)
      errors_[layer][i] = std::inner_product(row, row + error.size(), error.begin(), 0.0F);
  }
}

void Mlp::clear_gradients() {
  for (Parameter& parameter : parameters_)
    std::ranges::fill(parameter.gradient, 0.0F);
}

void Mlp::step(float learning_rate, float momentum) {
  for (Parameter& p : parameters_) {
    for (std::size_t i = 0; i < p.values.size(); ++i) {
      p.velocity[i] = momentum * p.velocity[i] + p.gradient[i];
      p.values[i] -= learning_rate * p.velocity[i];
    }
  }
}

std::uint64_t Mlp::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const Parameter& parameter : parameters_)
    for (const std::byte byte : std::as_bytes(std::span(parameter.values)))
      hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}

}  // namespace digits
