// Starts the all-reduce of each bucket as soon as this rank has its gradients, in an order that is
// the same on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/gradients/device_gradients.hpp"
#include "comm/gradients/encoded_buckets.hpp"
#include "comm/gradients/gradient_set.hpp"
#include "comm/gradients/mixed_precision_reduce.hpp"
#include "comm/trace/timeline.hpp"

namespace fastgpu::comm {

/// A launcher of buckets. Bucket b travels on stream b modulo the number of streams. Within a
/// stream buckets are started in the order of the plan. A bucket waits for those before it on its
/// stream, and for none on others.
class BucketLauncher {
 public:
  /// The ways of a sum other than all-reduce.
  struct Ways {
    /// One for each stream: sums and averages of 16-bit numbers are made in float32.
    std::span<ReductionLevels> levels{};
    EncodedBuckets* encoded = nullptr;  ///< Null if no bucket is encoded.
    DeviceGradients* device = nullptr;  ///< May be null, unless it sums buckets.
  };

  /// Borrows everything. `streams` are communicators of the same ranks; at least one. `timeline`
  /// may be null.
  BucketLauncher(const FusionPlan& plan, std::span<std::byte> buffer,
                 std::span<Communicator> streams, Ways ways, Timeline* timeline);

  /// `chance` is the number on which random numbers of codecs depend.
  void begin_step(ReduceOp op, std::uint32_t step, std::uint64_t chance = 0);

  /// The places for the elements of a gradient, in their order.
  struct PiecePlace {
    std::uint32_t bucket = 0;
    GradientPiece piece;
  };
  std::span<const PiecePlace> places_of(GradientId id) const { return places_of_[id.value]; }

  /// Notes that one piece of a gradient is in the buffer. Starts the buckets that can be started.
  void piece_ready(std::uint32_t bucket);
  void gradient_ready(GradientId id) { ready_.add(id); }  ///< Follows its last piece.

  /// Ends the step: starts every bucket that any rank has started or will start, with zeros in
  /// place of the gradients that are not ready here. All ranks give the same `on_any`.
  void launch_rest(const GradientSet& on_any);

  std::size_t stream_of(std::size_t bucket) const noexcept { return bucket % streams_.size(); }
  bool is_launched(std::size_t bucket) const noexcept { return runs_[bucket].has_value(); }
  /// Returns the length of a launched bucket on the wire.
  std::size_t wire_bytes(std::size_t bucket) const;

  /// Waits for a bucket that is launched; called after launch_rest, in the order of buckets.
  void wait(std::size_t bucket);

 private:
  using Sum = std::variant<Handle, MixedPrecisionReduce, CodeSum*, DeviceGradients::Sum>;
  struct Run {
    Sum work;
    Timeline::Clock::time_point began;
  };

  bool is_wanted(const Bucket& bucket, const GradientSet& on_any) const;
  template <class Action>
  void for_sums_with_phases(Action action);
  void launch_complete(std::size_t stream);
  void send_codes(std::size_t stream);
  void take_codes(std::size_t end);
  void launch(std::size_t bucket);
  Sum start(std::size_t number) const;

  const FusionPlan& plan_;
  std::span<std::byte> buffer_;
  std::span<Communicator> streams_;
  Ways ways_;
  Timeline* timeline_;
  ReduceOp op_ = ReduceOp::average;
  std::uint32_t step_ = 0;
  std::uint64_t chance_ = 0;
  std::vector<std::vector<PiecePlace>> places_of_;  ///< The places of each gradient.
  std::vector<std::uint32_t> pieces_left_;          ///< The number for each bucket.
  std::vector<std::size_t> next_;                   ///< The next bucket of each stream.
  std::vector<std::size_t> next_codes_;             ///< The first whose codes may not be sent yet.
  std::size_t next_sum_ = 0;  ///< The first bucket whose last codes are not taken yet.
  GradientSet ready_;
  std::vector<std::optional<Run>> runs_;
};

/// Returns the factor that makes a sum of `type` an average without overflow: 16-bit types are
/// scaled beforehand.
double scale_before(ElementType type, ReduceOp op, int ranks) noexcept;

}  // namespace fastgpu::comm
