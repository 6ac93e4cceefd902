// The sum over all ranks of one bucket of matrices, whose thin factors are added on their way
// (PowerSGD).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/codecs/low_rank.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/gradients/code_sum.hpp"
#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm {

/// Returns the forms of the gradients of a table, by id; of those that are not encoded, an empty
/// one.
std::vector<LowRankForm> low_rank_forms(const GradientTable& table,
                                        const GradientSettings& settings);

/// The communicators of one stream, of the same ranks: factors of a bucket may begin to travel
/// while those of the bucket before do.
struct FactorStreams {
  Communicator* left = nullptr;
  Communicator* right = nullptr;
};

/// A sum of matrices M. With the right factor of the last step, L = sum of M R is orthogonalised;
/// the new right factor is the sum of transposed M L, and the result is L times that. A rank keeps
/// what its own M L leaves out, so that nothing is lost.
class LowRankSum final : public CodeSum {
 public:
  /// Borrows everything. `numbers` are those of the bucket, which has whole gradients. `state` has
  /// their right factors.
  LowRankSum(const GradientTable& table, std::span<const LowRankForm> forms, FactorStreams streams,
             const Bucket& bucket, std::span<float> numbers, const CodecState& state);

  void begin(ReduceOp op, std::uint64_t step) override;
  bool reduce_in_node_if_complete() override;
  void reduce_in_node() override;
  void reduce_across_nodes() override;
  void broadcast_in_node() override;
  void wait() override {}
  void keep_residuals(CodecState& state, const GradientSet& applied) override;
  std::size_t encoded_bytes() const noexcept override;

 private:
  struct Matrix {
    GradientPiece piece;
    LowRankForm form;
    std::uint64_t seed = 0;  ///< The number on which its first right factor depends.
    std::size_t at = 0;      ///< The index of its first number in the bucket.
    std::size_t left = 0;    ///< The place of its left factor in `lefts_`.
    std::size_t right = 0;   ///< The place of its right factor in `rights_`.
  };

  std::span<float> numbers_of(const Matrix& matrix) const {
    return numbers_.subspan(matrix.at, matrix.form.elements());
  }
  std::span<float> left_of(const Matrix& matrix) {
    return std::span(lefts_).subspan(matrix.left, matrix.form.left());
  }
  std::span<float> right_of(const Matrix& matrix, std::vector<float>& rights) const {
    return std::span(rights).subspan(matrix.right, matrix.form.right());
  }

  FactorStreams streams_;
  const CodecState* state_;
  std::span<float> numbers_;
  std::int32_t priority_;
  std::vector<Matrix> matrices_;
  ReduceOp op_ = ReduceOp::average;
  bool is_sent_ = false;           ///< The right factors of this step are on their way.
  std::vector<float> residuals_;   ///< The numbers of this rank that its factors leave out.
  std::vector<float> own_rights_;  ///< This rank's part of the sums.
  std::vector<float> lefts_;
  std::vector<float> rights_;
  // Declared last, to end before the memory that they use.
  std::optional<Handle> left_sum_;
  std::optional<Handle> right_sum_;
};

}  // namespace fastgpu::comm
