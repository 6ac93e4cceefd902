// The distance of the ranks from their average, measured by one small sum over all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "comm/gossip/drift_guard.hpp"
#include "comm/gossip/sketch.hpp"

namespace fastgpu::comm {

/// A measurement takes two steps: it notes the numbers after one, and what training has made of
/// them before the next. The sums are then added up over all ranks while training goes on.
class DistanceMeter {
 public:
  static constexpr std::size_t kSums = 2 * kSketchSums + 3;
  using Sums = std::array<double, kSums>;

  /// Notes the numbers after a step.
  void note(std::span<const float> numbers);
  /// Returns true if numbers are noted whose measurement has not begun.
  bool has_note() const noexcept { return has_note_; }
  /// Takes the numbers before the next step. Afterwards sums() are this rank's.
  void take(std::span<const float> numbers);

  /// Returns the sums: of this rank, and once they are added up over all ranks, of all.
  Sums& sums() noexcept { return sums_; }
  Sketch& noted() noexcept { return noted_; }
  void set_note(bool has_note) noexcept { has_note_ = has_note; }

  /// Returns the measurement from the sums over so many ranks.
  static GuardMeasure measure_of(const Sums& sums, int ranks);

 private:
  Sketch noted_{};
  bool has_note_ = false;
  Sums sums_{};  ///< The noted sketch, that of the update, both squared lengths, and their product.
};

}  // namespace fastgpu::comm
