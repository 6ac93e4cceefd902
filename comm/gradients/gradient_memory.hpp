// The memory of gradients, from which they are packed and to which their results go.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "comm/fusion/fusion.hpp"
#include "comm/fusion/gradient_table.hpp"

namespace fastgpu::comm {

/// The form of a gradient in the fusion buffer.
struct Packing {
  ElementType wire = ElementType::float32;
  double scale = 1;          ///< The factor for packed numbers.
  bool past_caches = false;  ///< See Conversion.
  bool is_searched = false;  ///< Searched for NaN and infinity as it is packed.
};

/// The memory of each gradient: where it was registered, or another place for one step. A view has
/// none: it is in the fusion buffer alone. Not thread-safe, but several gradients may be packed at
/// the same time.
class GradientMemory {
 public:
  /// Borrows the table.
  explicit GradientMemory(const GradientTable& table) : table_(table) {}

  /// Adds the next gradient. Its memory, borrowed, is empty for a view.
  void add(std::span<std::byte> values);
  void make_view(GradientId id) { values_[id.value] = {}; }
  bool is_view(GradientId id) const noexcept { return values_[id.value].empty(); }
  bool has_views() const noexcept;

  /// Lends a gradient another memory until step_ended().
  void place_for_step(GradientId id, std::span<std::byte> values) { of_step_[id.value] = values; }
  void step_ended();

  /// Returns the memory of a gradient in this step; empty for a view.
  std::span<std::byte> of(GradientId id) const noexcept;

  /// Packs a piece into `to`; a view is there already. Returns the index in the piece of the first
  /// number that is not finite, if it is searched.
  std::optional<std::size_t> pack(const GradientPiece& piece, std::span<std::byte> to,
                                  const Packing& packing) const;

  /// Unpacks the result of a piece, which is no view, out of `from`.
  void unpack(const GradientPiece& piece, std::span<const std::byte> from,
              const Packing& packing) const;

 private:
  const GradientTable& table_;
  std::vector<std::span<std::byte>> values_;
  std::vector<std::span<std::byte>> of_step_;  ///< In place of `values_` where it is not empty.
};

}  // namespace fastgpu::comm
