// Which gradients travel together: cut and merged into buckets that lie in one fusion buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "comm/entry/table.hpp"

namespace fastgpu::comm {

/// Where buckets and gradients begin in the fusion buffer: a cache line, and the widest vector.
constexpr std::size_t kFusionAlignment = 64;

/// A stretch of one gradient within one bucket.
struct GradientPiece {
  GradientId gradient{};
  std::size_t first = 0;   ///< Its first element.
  std::size_t count = 0;   ///< Elements.
  std::size_t offset = 0;  ///< In the fusion buffer, in bytes.
};

/// What one all-reduce carries.
struct Bucket {
  ElementType type = ElementType::float32;  ///< On the wire.
  std::size_t offset = 0;                   ///< In the fusion buffer, in bytes.
  std::size_t bytes = 0;                    ///< Gaps between gradients included.
  std::int32_t priority = 0;                ///< The highest of its gradients.
  std::vector<GradientPiece> pieces;
};

/// Buckets in the order in which they are launched.
struct FusionPlan {
  std::vector<Bucket> buckets;
  std::vector<std::size_t> offset_of;  ///< Of each gradient, in the fusion buffer: in one piece.
  std::size_t buffer_bytes = 0;
};

/// `order` has every gradient once; `wire` has its type on the wire, by id. A bucket has at most
/// `granularity` bytes, but at least kFusionAlignment, and is launched where the last of its
/// gradients stands in the order. Gradients without elements are in no bucket.
FusionPlan plan_fusion(const GradientTable& table, std::span<const GradientId> order,
                       std::span<const ElementType> wire, Bytes granularity);

/// Equal where two ranks mean the same plan.
std::uint64_t hash(const FusionPlan& plan);

/// The last registered first, as a backward pass has them.
std::vector<GradientId> initial_order(const GradientTable& table);

}  // namespace fastgpu::comm
