// The memory of codecs from step to step: the part of each gradient that has not been sent yet, the
// factors of matrices, velocities, and memories of codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/fusion/gradient_table.hpp"
#include "comm/gradients/gradient_set.hpp"

namespace fastgpu::comm {

/// The numbers that the codes of a stretch of a gradient have had in common. A step uses them
/// without sending them, and codes carry what differs.
struct CodeMemory {
  std::size_t first = 0;     ///< The index of its first number in the gradient.
  std::uint64_t group = 0;   ///< A number of the ranks that exchange these codes.
  std::vector<float> own{};  ///< That of this rank's codes.
  std::vector<float> sum{};  ///< The sum over the ranks of the group, the same on all of them.
};

/// The state of one rank. A residual belongs to an element of a gradient, wherever buckets place
/// it. It is that rank's alone: the sum over all ranks is what has not been sent.
class CodecState {
 public:
  /// Sizes it for the gradients of a table.
  void resize(std::size_t gradients) {
    of_.resize(gradients);
    factors_.resize(gradients);
    velocities_.resize(gradients);
    memories_.resize(gradients);
  }

  /// Adds the residuals of a gradient's elements from `first` on.
  void add_to(GradientId id, std::size_t first, std::span<float> values) const;

  /// Replaces the residuals of all elements of `piece` by `kept`, from the element `first` of its
  /// gradient on, and 0 elsewhere.
  void replace(const GradientPiece& piece, std::size_t first, std::span<const float> kept);

  /// Returns the right factor of a gradient for the next step, the same on all ranks; empty at
  /// first.
  std::span<const float> factor_of(GradientId id) const { return factors_[id.value]; }
  void keep_factor(GradientId id, std::span<const float> factor) {
    factors_[id.value].assign(factor.begin(), factor.end());
  }

  /// Makes numbers of a gradient of `elements` elements, from `first` on, its next velocity: adds
  /// `momentum` times the present one. One thread at a time for each gradient.
  void add_velocity(GradientId id, std::size_t elements, std::size_t first, std::span<float> values,
                    float momentum);
  /// Takes the next velocities of this step for gradients that are in `applied`.
  void keep_velocities(const GradientSet& applied);
  std::span<const float> velocity_of(GradientId id) const { return velocities_[id.value].now; }

  void keep_memory(GradientId id, CodeMemory memory) {
    memories_[id.value].push_back(std::move(memory));
  }
  /// Returns what is kept for the stretch and the group of `other`; null if nothing is.
  const CodeMemory* memory_like(GradientId id, const CodeMemory& other) const noexcept;
  void drop_memories();

  /// The number of steps, on which random numbers depend.
  std::uint64_t steps() const noexcept { return steps_; }
  void step_ended() noexcept {
    ++steps_;
    for (Velocity& each : velocities_)
      each.has_next = false;
  }

  /// Returns the length of what saved() returns for this table.
  std::size_t saved_bytes(const GradientTable& table) const;

  /// Returns the state of one of `ranks` ranks for a file. Gradients of which nothing is kept are
  /// not in it.
  std::vector<std::byte> saved(const GradientTable& table, Rank rank, int ranks) const;

  /// Takes a saved state: residuals of gradients with the same name and number of elements; those
  /// of others are dropped, and gradients that it does not have begin at 0. Throws ErrorKind::usage
  /// for the state of another rank, whose residuals would count twice, for that of another number
  /// of ranks, of which some would be lost, and for damaged bytes; then nothing has changed.
  void load(std::span<const std::byte> saved, const GradientTable& table, Rank rank, int ranks);

  /// Drops what is kept of a gradient, but for its velocity.
  void drop(GradientId id) {
    of_[id.value].clear();
    factors_[id.value].clear();
    memories_[id.value].clear();
  }
  void drop_velocity(GradientId id) { velocities_[id.value] = {}; }

 private:
  struct Stretch {
    std::size_t first = 0;
    std::vector<float> values;

    std::size_t end() const noexcept { return first + values.size(); }
  };
  struct Velocity {
    std::vector<float> now;
    std::vector<float> next;
    bool has_next = false;  ///< `next` is that of the present step.
  };
  using Stretches = std::vector<Stretch>;  ///< The parts in order, without overlaps.

  bool keeps(std::size_t gradient) const {
    return !of_[gradient].empty() || !factors_[gradient].empty() ||
           !velocities_[gradient].now.empty() || !memories_[gradient].empty();
  }
  static void cut(Stretches& stretches, std::size_t first, std::size_t end);

  std::uint64_t steps_ = 0;
  std::vector<Stretches> of_;                      ///< The stretches of each gradient.
  std::vector<std::vector<float>> factors_;        ///< The factors of each gradient.
  std::vector<Velocity> velocities_;               ///< The velocity of each gradient.
  std::vector<std::vector<CodeMemory>> memories_;  ///< Those of each gradient, in any order.
};

}  // namespace fastgpu::comm
