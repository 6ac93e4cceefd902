// The codec of a set of gradients: which of them it encodes, what it remembers of each from step to
// step, and the sums of their encoded buckets.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/codecs/codec.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/gradients/codec_state.hpp"
#include "comm/gradients/codec_traits.hpp"
#include "comm/gradients/encoded_buckets.hpp"
#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm {

class GradientCodec {
 public:
  /// The parts that sums of encoded buckets are made of.
  struct Parts {
    const FusionPlan& plan;
    std::span<std::byte> buffer;
    std::span<Communicator> streams;
    std::span<Communicator> factor_streams;  ///< One for each stream, if matrices are factors.
    std::span<ReductionLevels> levels;       ///< One for each stream, if they are not.
    DeviceGradients* device = nullptr;       ///< The device that has all gradients, if one has.
  };

  /// Borrows both.
  GradientCodec(const GradientTable& table, const GradientSettings& settings)
      : table_(table), settings_(settings) {}

  /// Makes room for a gradient that has been added to the table.
  void gradient_added() { state_.resize(table_.size()); }

  /// Decides which gradients are encoded, once all are in the table.
  void begin(Exchange exchange);

  /// Returns by gradient whether it is encoded; empty if none is.
  const std::vector<bool>& encoded() const noexcept { return encoded_; }

  /// The number of steps, on which random numbers and a warm-up depend.
  std::uint64_t steps() const noexcept { return state_.steps(); }

  /// Makes the sums for the codec of this step. Borrows the parts.
  void make_sums(const Parts& parts);
  /// Drops the sums, but not the residuals that they have.
  void drop_sums();
  /// Returns true if a warm-up has another codec in this step than that of the sums.
  bool has_outgrown_sums() const;
  /// Returns null if nothing is encoded.
  EncodedBuckets* sums() noexcept { return sums_ ? &*sums_ : nullptr; }

  bool has_on_device(std::size_t bucket, ReduceOp op) const noexcept {
    return sums_ && sums_->has_on_device(bucket, op);
  }

  /// Adds the velocity and the residual of a piece to its numbers, where there are such.
  void add_state(const GradientPiece& piece, std::span<std::byte> numbers, ReduceOp op);
  /// Keeps the new velocities of gradients that this step has exchanged.
  void keep_velocities(const GradientSet& applied) { state_.keep_velocities(applied); }
  /// Keeps the new residuals of a bucket that has arrived.
  void keep_residuals(std::size_t bucket, const GradientSet& applied, ReduceOp op);
  void step_ended() noexcept { state_.step_ended(); }

  /// Returns the length of what saved() returns.
  std::size_t saved_bytes();
  /// Returns what is remembered on one of `ranks` ranks, for a file.
  std::vector<std::byte> saved(Rank rank, int ranks);
  /// Returns the state that saved() has returned, of the same table. See CodecState::load.
  CodecState decoded(std::span<const std::byte> saved, Rank rank, int ranks) const;
  /// Takes a decoded state.
  void take(CodecState&& state);

 private:
  template <class Use>
  auto with_whole_state(Use use);

  const GradientTable& table_;
  const GradientSettings& settings_;
  std::vector<bool> encoded_;
  std::vector<bool> moved_;  ///< Whether a gradient has momentum.
  CodecState state_;
  std::optional<CodecChoice> strength_;  ///< The codec of this step; absent: it is not used.
  std::unique_ptr<const Codec> codec_;   ///< Null if nothing is encoded, and for a linear codec.
  std::optional<EncodedBuckets> sums_;   ///< Absent if nothing is encoded.
};

}  // namespace fastgpu::comm
