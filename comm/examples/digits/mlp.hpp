// A small multi-layer perceptron with its gradients: ReLU between the layers, softmax and cross
// entropy behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "random.hpp"

namespace digits {

/// One array of parameters, with what training keeps beside it.
struct Parameter {
  std::string name;
  std::vector<float> values;
  std::vector<float> gradient;
  std::vector<float> velocity;
};

struct Outcome {
  double loss = 0;
  bool is_right = false;
};

class Mlp {
 public:
  /// `widths` goes from the pixels to the classes.
  Mlp(std::vector<std::size_t> widths, Random random);

  /// Weights and bias of each layer in turn. The arrays never move.
  std::vector<Parameter>& parameters() { return parameters_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

  Outcome evaluate(const Sample& sample);

  /// The same, and adds `weight` times the sample's gradient to what the parameters have.
  Outcome accumulate(const Sample& sample, float weight);

  void clear_gradients();

  /// One step of gradient descent with momentum.
  void step(float learning_rate, float momentum);

  std::uint64_t hash() const;  ///< FNV-1a over the bytes of all parameters.

 private:
  std::size_t layers() const { return widths_.size() - 1; }
  void forward_layer(std::size_t layer);
  void backward_layer(std::size_t layer);

  std::vector<std::size_t> widths_;
  std::vector<Parameter> parameters_;
  std::vector<std::vector<float>> activations_;  ///< One array per width.
  std::vector<std::vector<float>> errors_;       ///< Derivative of the loss by each of them.
};

}  // namespace digits
