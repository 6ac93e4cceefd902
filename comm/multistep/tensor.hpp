// One gradient or parameter of multistep training, with the memory that it needs between rounds.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm/fusion/gradient_table.hpp"
#include "comm/multistep/outer_step.hpp"

namespace fastgpu::comm {

/// A tensor of the program, and its working memory in float32 (float64 for float64), whose address
/// does not change.
class MultistepTensor {
 public:
  /// Borrows `values`. Throws ErrorKind::usage for a type without fractions.
  MultistepTensor(GradientInfo info, std::span<std::byte> values);

  const GradientInfo& info() const noexcept { return info_; }
  /// Returns the description of the working memory, for an exchange.
  GradientInfo work_info() const;
  std::span<std::byte> values() noexcept { return values_; }
  std::span<std::byte> work() noexcept { return work_; }
  std::span<std::byte> anchor() noexcept { return anchor_; }
  std::span<std::byte> momentum() noexcept { return momentum_; }

  // Gradients.

  /// Adds the gradient times `weight` to the working memory, and sets it to 0.
  void accumulate(double weight);
  void scale_work(double factor);
  /// Gives the program the working memory times `factor`, and clears it.
  void deliver(double factor);
  void clear() noexcept;
  /// Gives the program the working memory times `out`, which then has the gradient times `in`.
  void swap(double out, double in);
  /// Sets the gradient of the program to 0.
  void clear_values() noexcept;

  // Parameters.

  /// Remembers the parameters, as the same on all ranks, and makes room for a momentum.
  void remember(bool has_momentum);
  /// Sets the working memory to how far the parameters have moved since, times `factor`.
  void measure_move(double factor);
  /// Moves the remembered parameters by the averaged move times `factor`, and gives the program
  /// the result.
  void apply_move(double factor, const OuterRate& rate);
  /// Gives the program the remembered parameters.
  void go_back();
  /// Returns true if the parameters have no NaN and no infinity.
  bool is_finite() const;

 private:
  GradientInfo info_;
  ElementType work_type_;
  std::span<std::byte> values_;
  std::vector<std::byte> work_;
  std::vector<std::byte> anchor_;    ///< Empty for gradients.
  std::vector<std::byte> momentum_;  ///< Empty without one.
};

}  // namespace fastgpu::comm
