// Starts the all-reduce of each bucket as soon as this rank has its gradients, in an order that is
// the same on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/entry/fusion.hpp"
#include "comm/entry/gradient_set.hpp"

namespace fastgpu::comm {

/// Bucket b travels on lane b modulo the number of lanes. Within a lane buckets are started in the
/// order of the plan; a bucket waits for those before it on its lane, and for none on others.
class Launcher {
 public:
  /// Borrows everything. `lanes` are communicators of the same ranks; at least one.
  Launcher(const FusionPlan& plan, std::span<std::byte> buffer, std::span<Communicator> lanes);

  void begin_step(ReduceOp op);

  /// All elements of the gradient are in the buffer. Starts what can be started.
  void ready(GradientId id);

  /// Ends the step: starts every bucket that some rank has started or will start, with zeros in
  /// place of what is not ready here. All ranks give the same `on_any`.
  void launch_rest(const GradientSet& on_any);

  bool is_launched(std::size_t bucket) const noexcept { return handles_[bucket].has_value(); }
  /// Returns at once where the bucket is not launched.
  void wait(std::size_t bucket);

 private:
  bool is_wanted(const Bucket& bucket, const GradientSet& on_any) const;
  void launch_complete(std::size_t lane);
  void launch(std::size_t bucket);

  const FusionPlan& plan_;
  std::span<std::byte> buffer_;
  std::span<Communicator> lanes_;
  ReduceOp op_ = ReduceOp::average;
  std::vector<std::vector<std::uint32_t>> buckets_of_;  ///< Of each gradient.
  std::vector<std::uint32_t> pieces_left_;              ///< Of each bucket.
  std::vector<std::size_t> next_;                       ///< Of each lane: the bucket to come.
  GradientSet ready_;
  std::vector<std::optional<Handle>> handles_;
};

/// What makes a sum of `type` an average without overflow: 16-bit types are scaled beforehand.
double scale_before(ElementType type, ReduceOp op, int ranks) noexcept;

}  // namespace fastgpu::comm
