// A small multi-layer perceptron with its gradients: ReLU between the layers, softmax and cross
// entropy behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "random.hpp"

namespace training {

/// One array of parameters, with the data that training keeps beside it.
struct Parameter {
  std::string name;
  std::vector<std::uint64_t> shape;  ///< A matrix, or a vector.
  std::vector<float> values;
  std::vector<float> gradient;
  std::vector<float> velocity;
};

/// The result for several samples.
struct Evaluation {
  double loss = 0;  ///< The sum of their losses.
  std::size_t right = 0;
};

class Mlp {
 public:
  /// Makes a network; `widths` goes from the pixels to the classes.
  Mlp(std::vector<std::size_t> widths, Random random);

  /// Returns weights and bias of each layer in turn. The arrays never move.
  std::vector<Parameter>& parameters() { return parameters_; }

  /// Evaluates samples, given as indices into `data`.
  Evaluation evaluate(const Dataset& data, std::span<const std::size_t> samples);

  /// Evaluates, and sets the parameters' gradients to `weight` times the sum of the samples'
  /// gradients: the last layer first. `complete` is called for each parameter as soon as it is
  /// complete, with its index.
  Evaluation differentiate(const Dataset& data, std::span<const std::size_t> samples, float weight,
                           const std::function<void(std::size_t parameter)>& complete);

  /// Makes one step of gradient descent with momentum.
  void step(float learning_rate, float momentum);

  std::uint64_t hash() const;  ///< Returns FNV-1a over the bytes of all parameters.

 private:
  using Layer = std::vector<float>;  ///< A row for every sample.

  std::size_t layers() const { return widths_.size() - 1; }
  std::span<float> row(Layer& values, std::size_t width, std::size_t sample) const {
    return std::span(values).subspan(sample * width, width);
  }
  void forward_layer(std::size_t layer, std::size_t samples);
  void backward_layer(std::size_t layer, std::size_t samples);

  std::vector<std::size_t> widths_;
  std::vector<Parameter> parameters_;
  std::vector<Layer> activations_;  ///< One for every width.
  std::vector<Layer> errors_;       ///< Derivative of the loss by each of them.
};

}  // namespace training
