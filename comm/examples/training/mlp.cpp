#include "mlp.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace training {
namespace {

Parameter parameter(std::string name, std::vector<std::uint64_t> shape) {
  std::size_t count = 1;
  for (const std::uint64_t length : shape)
    count *= length;
  const std::vector<float> zeros(count);
  return {std::move(name), std::move(shape), zeros, zeros, zeros};
}

/// Returns He's bound, which keeps the variance through ReLU layers.
float initial_limit(std::size_t inputs) {
  return std::sqrt(6.0F / static_cast<float>(inputs));
}

/// Turns scores into probabilities; the largest score is subtracted first, so that no exp
/// overflows.
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

Mlp::Mlp(std::vector<std::size_t> widths, Random random)
    : widths_(std::move(widths)), activations_(widths_.size()), errors_(widths_.size()) {
  for (std::size_t layer = 0; layer < layers(); ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    parameters_.push_back(parameter(name + ".weight", {widths_[layer], widths_[layer + 1]}));
    for (float& value : parameters_.back().values)
      value = random.uniform(initial_limit(widths_[layer]));
    parameters_.push_back(parameter(name + ".bias", {widths_[layer + 1]}));
  }
}

Evaluation Mlp::evaluate(const Dataset& data, std::span<const std::size_t> samples) {
  for (std::size_t layer = 0; layer < widths_.size(); ++layer) {
    activations_[layer].resize(samples.size() * widths_[layer]);
    errors_[layer].resize(samples.size() * widths_[layer]);
  }
  for (std::size_t s = 0; s < samples.size(); ++s)
    std::ranges::transform(
        data.image(samples[s]), row(activations_[0], data.width, s).begin(),
        [&](std::uint8_t pixel) { return static_cast<float>(pixel) / data.brightest; });
  for (std::size_t layer = 0; layer < layers(); ++layer)
    forward_layer(layer, samples.size());
  Evaluation outcome;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const auto scores = row(activations_.back(), kClasses, s);
    const std::size_t wanted = data.classes[samples[s]];
    if (argmax(scores) == wanted) ++outcome.right;
    softmax(scores);
    outcome.loss -= std::log(static_cast<double>(std::max(scores[wanted], 1e-30F)));
  }
  return outcome;
}

Evaluation Mlp::differentiate(const Dataset& data, std::span<const std::size_t> samples,
                              float weight,
                              const std::function<void(std::size_t parameter)>& complete) {
  const Evaluation outcome = evaluate(data, samples);
  for (std::size_t s = 0; s < samples.size(); ++s)
    for (std::size_t c = 0; c < kClasses; ++c) {
      const float target = c == data.classes[samples[s]] ? 1.0F : 0.0F;
      row(errors_.back(), kClasses, s)[c] =
          weight * (row(activations_.back(), kClasses, s)[c] - target);
    }
  for (std::size_t layer = layers(); layer-- > 0;) {
    backward_layer(layer, samples.size());
    complete(2 * layer + 1);
    complete(2 * layer);
  }
  return outcome;
}

// A weight array has one row per input, so that the inner loops run along memory, and a row is used
// for every sample while it is near. Half of the inputs are 0, dark pixels or blocked by ReLU, and
// add nothing.

void Mlp::forward_layer(std::size_t layer, std::size_t samples) {
  const std::size_t inputs = widths_[layer];
  const std::size_t outputs = widths_[layer + 1];
  const float* weights = parameters_[2 * layer].values.data();
  for (std::size_t s = 0; s < samples; ++s)
    std::ranges::copy(parameters_[2 * layer + 1].values,
                      row(activations_[layer + 1], outputs, s).begin());
  for (std::size_t i = 0; i < inputs; ++i, weights += outputs) {
    for (std::size_t s = 0; s < samples; ++s) {
      const float in = activations_[layer][s * inputs + i];
      if (in == 0) continue;
      float* const out = activations_[layer + 1].data() + s * outputs;
      for (std::size_t o = 0; o < outputs; ++o)
        out[o] += weights[o] * in;
    }
  }
  if (layer + 1 == layers()) return;
  for (float& value : activations_[layer + 1])
    value = std::max(value, 0.0F);
}

void Mlp::backward_layer(std::size_t layer, std::size_t samples) {
  const std::size_t inputs = widths_[layer];
  const std::size_t outputs = widths_[layer + 1];
  const float* weights = parameters_[2 * layer].values.data();
  float* gradient = parameters_[2 * layer].gradient.data();
  std::vector<float>& bias = parameters_[2 * layer + 1].gradient;
  std::ranges::fill(bias, 0.0F);
  for (std::size_t s = 0; s < samples; ++s)
    for (std::size_t o = 0; o < outputs; ++o)
      bias[o] += errors_[layer + 1][s * outputs + o];
  for (std::size_t i = 0; i < inputs; ++i, weights += outputs, gradient += outputs) {
    std::fill_n(gradient, outputs, 0.0F);
    for (std::size_t s = 0; s < samples; ++s) {
      const float in = activations_[layer][s * inputs + i];
      const float* const error = errors_[layer + 1].data() + s * outputs;
      float& below = errors_[layer][s * inputs + i];
      below = 0;  // ReLU passes nothing back if it passed nothing on.
      if (in == 0) continue;
      for (std::size_t o = 0; o < outputs; ++o)
        gradient[o] += error[o] * in;
      if (layer > 0) below = std::inner_product(weights, weights + outputs, error, 0.0F);
    }
  }
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

}  // namespace training
