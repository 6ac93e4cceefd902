// The gradients that travel together: cut and merged into buckets of one fusion buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "comm/fusion/gradient_table.hpp"

namespace fastgpu::comm {

/// The alignment of buckets and gradients in the fusion buffer: a cache line, and the widest
/// vector.
constexpr std::size_t kFusionAlignment = 64;

/// Returns the length with the gap behind it.
constexpr std::size_t fusion_aligned(std::size_t bytes) noexcept {
  return (bytes + kFusionAlignment - 1) / kFusionAlignment * kFusionAlignment;
}

/// A stretch of one gradient within one bucket.
struct GradientPiece {
  GradientId gradient{};
  std::size_t first = 0;   ///< Index of the first element.
  std::size_t count = 0;   ///< Number of elements.
  std::size_t offset = 0;  ///< Place in the fusion buffer, in bytes.
};

/// The data of one all-reduce.
struct Bucket {
  ElementType type = ElementType::float32;  ///< The type on the wire.
  std::size_t offset = 0;                   ///< The place in the fusion buffer, in bytes.
  std::size_t bytes = 0;                    ///< The length, with the gaps between gradients.
  std::int32_t priority = 0;                ///< The highest priority of its gradients.
  bool is_encoded = false;                  ///< A codec is applied to its numbers.
  std::vector<GradientPiece> pieces;
};

/// Buckets in the order in which they are launched.
struct FusionPlan {
  std::vector<Bucket> buckets;
  /// The place of each gradient in the fusion buffer: in one piece.
  std::vector<std::size_t> offset_of;
  std::size_t buffer_bytes = 0;
};

/// The treatment of an encoded gradient that does not fit into the rest of a bucket.
enum class EncodedPieces : std::uint8_t {
  cut,   ///< As others: one that is larger than a bucket is cut.
  whole  ///< It is never cut: its bucket may be larger than the others.
};

/// Plans the buckets. `order` has every gradient once; `wire` has its type on the wire, by id. A
/// bucket has at most `granularity` bytes, but at least kFusionAlignment, and is launched at the
/// place in the order of the last of its gradients. Gradients without elements are in no bucket.
/// `encoded` has those for a codec, by id, which share no bucket with others; empty: there are
/// none.
FusionPlan plan_fusion(const GradientTable& table, std::span<const GradientId> order,
                       std::span<const ElementType> wire, Bytes granularity,
                       const std::vector<bool>& encoded = {},
                       EncodedPieces pieces = EncodedPieces::cut);

/// Returns a hash that is equal if two ranks have the same plan.
std::uint64_t hash(const FusionPlan& plan);

/// Returns the order of a backward pass: the last registered first.
std::vector<GradientId> initial_order(const GradientTable& table);

}  // namespace fastgpu::comm
