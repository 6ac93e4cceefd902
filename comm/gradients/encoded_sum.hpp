// The sum over all ranks of one bucket whose numbers a codec encodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/codecs/codec.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/gradients/code_sum.hpp"
#include "comm/gradients/codec_state.hpp"
#include "comm/gradients/gradient_set.hpp"
#include "comm/gradients/mixed_precision_reduce.hpp"

namespace fastgpu::comm {

/// A codec and its use.
struct EncodedForm {
  const Codec* codec = nullptr;
  bool is_dense = true;       ///< A sum can be encoded again.
  bool has_feedback = false;  ///< The rest of a code is kept for the next step.
  float memory = 0;           ///< The part of each code that is remembered; 0: none.
};

/// The ranks that exchange codes, seen from one of them. If several nodes have the same number of
/// ranks, several each, numbers are added within a node first. Each rank there then encodes a slice
/// of the sums, and exchanges codes with the rank of the same place in every other node.
struct CodeLevels {
  Communicator* all = nullptr;
  Communicator* inside = nullptr;  ///< Null if every rank encodes all of its numbers.
  Communicator* across = nullptr;
  std::vector<Rank> senders{};  ///< The ranks of `across`, as `all` numbers them.
};

/// Returns the levels of `all` that `levels` are made of; borrows both.
CodeLevels code_levels_of(Communicator& all, ReductionLevels& levels);

/// A stretch of one gradient that is encoded alone.
struct CodeRun {
  GradientId gradient{};
  std::size_t first = 0;  ///< The index of its first number in the gradient.
  std::size_t at = 0;     ///< The index in the bucket.
  std::size_t count = 0;
  std::size_t code = 0;  ///< The place of its code in that of its part.
};

/// A part of a bucket that one rank encodes, as one message.
struct CodePart {
  std::size_t at = 0;  ///< The index of its first number in the bucket.
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::vector<CodeRun> runs{};
};

/// Returns `parts` parts of a stretch of a bucket, which begins at number `at`, one after the other
/// and as equal as possible.
std::vector<CodePart> code_parts_of(const Bucket& bucket, const Codec& codec, std::size_t at,
                                    std::size_t count, std::size_t parts);

/// Returns the seed of a rank in a step, in which it encodes numbers (stage 0) and sums (stage 1).
/// The seed of a run is this ^ chance_of(run).
std::uint64_t seed_of_step(std::uint64_t step, Rank self, std::uint64_t stage) noexcept;
std::uint64_t chance_of(const CodeRun& run) noexcept;

/// Throws ErrorKind::remote, naming the sender, for a code of `part` that cannot be decoded, and
/// ends the job on all ranks. `sender` is a rank of levels.across.
void check_codes(const Codec& codec, const CodePart& part, std::span<const std::byte> code,
                 const CodeLevels& levels, std::size_t sender);

/// A sum of codes. Those of up to two ranks, and those that are not dense, go to every rank, which
/// adds them up. Otherwise each rank adds up one part, and encodes the sum for the others: that is
/// fewer bytes.
class EncodedSum final : public CodeSum {
 public:
  /// Borrows everything. `numbers` are those of the bucket, and of the gap behind it.
  EncodedSum(EncodedForm form, const CodeLevels& levels, const Bucket& bucket,
             std::span<float> numbers);

  void begin(ReduceOp op, std::uint64_t step) override;
  /// Encodes and sends the numbers if those of this node are added already, before reduce_in_node()
  /// has to wait for them. Returns true if they are sent. May be called any number of times.
  bool reduce_in_node_if_complete() override;
  void reduce_in_node() override;
  void reduce_across_nodes() override;
  void broadcast_in_node() override;
  void wait() override;
  void keep_residuals(CodecState& state, const GradientSet& applied) override;
  void save_residuals(CodecState& state) const override;
  void load_residuals(const CodecState& state) override;
  std::size_t encoded_bytes() const noexcept override;

 private:
  bool is_encoded_again() const noexcept { return parts_.size() > 1; }
  std::size_t ranks() const noexcept { return levels_->senders.size(); }
  std::span<std::byte> code_at(std::span<std::byte> codes, std::size_t index) const {
    return codes.subspan(index * code_bytes_, code_bytes_);
  }
  /// Returns the code of a run that a rank has sent.
  std::span<const std::byte> code_of(const CodeRun& run, std::size_t sender) const {
    return std::span(codes_).subspan(sender * code_bytes_ + run.code,
                                     form_.codec->encoded_bytes(run.count));
  }
  std::span<float> slice() const { return numbers_.subspan(place_ * block_, block_); }
  std::uint64_t seed_of(const CodeRun& run, std::uint64_t stage) const noexcept;
  void encode_and_send();
  void encode(const CodePart& part, std::span<std::byte> code);
  void encode_sum(const CodePart& part, std::span<std::byte> code);
  void add_up(const CodePart& part, std::size_t sender, std::size_t codes, Reduction reduction);
  void add(const CodePart& part, std::size_t sender);
  bool has_memory() const noexcept { return form_.memory > 0; }
  std::uint64_t group() const noexcept;
  void remember(const GradientSet& applied);

  EncodedForm form_;
  const CodeLevels* levels_;
  const Bucket* bucket_;
  std::span<float> numbers_;
  std::size_t place_ = 0;  ///< The place of this rank in its node.
  std::size_t block_ = 0;  ///< The numbers that each rank of a node encodes.
  std::span<float> rest_;  ///< Fewer than the ranks of a node, and not encoded.
  std::vector<CodePart> parts_;
  std::size_t code_bytes_ = 0;  ///< The length of each message.
  ReduceOp op_ = ReduceOp::average;
  std::uint64_t step_ = 0;
  bool is_sent_ = false;  ///< The numbers of this step are encoded and on their way.
  /// The numbers of this rank's slice, and afterwards their residuals; empty if they are encoded
  /// where they are.
  std::vector<float> values_;
  std::vector<CodeMemory> memories_;  ///< One for each run; none without memory.
  std::vector<float> sums_;       ///< The sums that are encoded again, and then their residuals.
  std::vector<std::byte> out_;    ///< Codes for each rank; unused if all ranks get the same one.
  std::vector<std::byte> codes_;  ///< Codes from each rank.
  // Declared last, to end before the memory that they use.
  std::optional<Handle> in_node_;
  std::optional<Handle> rest_sum_;
  std::optional<Handle> exchange_;
};

}  // namespace fastgpu::comm
