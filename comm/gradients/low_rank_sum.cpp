#include "comm/gradients/low_rank_sum.hpp"

#include <algorithm>

#include "comm/fusion/fingerprint.hpp"
#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

constexpr Reduction kFactorSum{ElementType::float32, ReduceOp::sum};

/// Starts the sum of factors; nothing for a bucket without matrices.
void start_sum(std::optional<Handle>& handle, Communicator& stream, std::vector<float>& factors,
               std::int32_t priority) {
  if (factors.empty()) return;
  handle.emplace(
      stream.start_all_reduce(std::as_writable_bytes(std::span(factors)), kFactorSum, priority));
}

void finish_sum(std::optional<Handle>& handle) {
  if (!handle) return;
  handle->wait();
  handle.reset();
}

}  // namespace

std::vector<LowRankForm> low_rank_forms(const GradientTable& table,
                                        const GradientSettings& settings) {
  std::vector<LowRankForm> forms(table.size());
  const std::vector<bool> encoded = encoded_gradients(table, settings);
  for (std::size_t i = 0; i < table.size(); ++i)
    if (encoded[i])
      forms[i] = low_rank_form(table[{i}].shape, settings.codec.thin).value_or(LowRankForm{});
  return forms;
}

LowRankSum::LowRankSum(const GradientTable& table, std::span<const LowRankForm> forms,
                       FactorStreams streams, const Bucket& bucket, std::span<float> numbers,
                       const CodecState& state)
    : streams_(streams), state_(&state), numbers_(numbers), priority_(bucket.priority) {
  std::size_t left = 0;
  std::size_t right = 0;
  for (const GradientPiece& piece : bucket.pieces) {
    matrices_.push_back({.piece = piece,
                         .form = forms[piece.gradient.value],
                         .seed = Fingerprint().add(table[piece.gradient].name).value(),
                         .at = (piece.offset - bucket.offset) / sizeof(float),
                         .left = left,
                         .right = right});
    left += matrices_.back().form.left();
    right += matrices_.back().form.right();
  }
  residuals_.resize(numbers_.size());
  lefts_.resize(left);
  own_rights_.resize(right);
  rights_.resize(right);
}

std::size_t LowRankSum::encoded_bytes() const noexcept {
  return (lefts_.size() + rights_.size()) * sizeof(float);
}

void LowRankSum::begin(ReduceOp op, std::uint64_t) {
  op_ = op;
  is_sent_ = false;
  std::ranges::copy(numbers_, residuals_.begin());
  for (const Matrix& matrix : matrices_) {
    const std::span<float> right = right_of(matrix, rights_);
    const std::span<const float> known = state_->factor_of(matrix.piece.gradient);
    if (known.size() == right.size())
      std::ranges::copy(known, right.begin());
    else
      start_right(matrix.form, right, matrix.seed);
    multiply(matrix.form, left_of(matrix), numbers_of(matrix), right);
  }
  start_sum(left_sum_, *streams_.left, lefts_, priority_);
}

bool LowRankSum::reduce_in_node_if_complete() {
  if (!is_sent_ && left_sum_ && !left_sum_->test()) return false;
  reduce_in_node();
  return true;
}

void LowRankSum::reduce_in_node() {
  if (is_sent_) return;
  is_sent_ = true;
  finish_sum(left_sum_);
  for (const Matrix& matrix : matrices_) {
    make_orthogonal(matrix.form, left_of(matrix));
    multiply_transposed(matrix.form, right_of(matrix, own_rights_), numbers_of(matrix),
                        left_of(matrix));
  }
  std::ranges::copy(own_rights_, rights_.begin());
  start_sum(right_sum_, *streams_.right, rights_, priority_);
}

/// Computes residuals while right factors travel.
void LowRankSum::reduce_across_nodes() {
  for (const Matrix& matrix : matrices_) {
    const std::span<float> rest = std::span(residuals_).subspan(matrix.at, matrix.form.elements());
    add_product(matrix.form, rest, left_of(matrix), right_of(matrix, own_rights_), -1);
    kernels().drop_non_finite(rest.data(), rest.size());
  }
}

void LowRankSum::broadcast_in_node() {
  finish_sum(right_sum_);
  const float factor =
      op_ == ReduceOp::average ? 1 / static_cast<float>(streams_.left->size()) : 1.0F;
  for (const Matrix& matrix : matrices_) {
    std::ranges::fill(numbers_of(matrix), 0.0F);
    add_product(matrix.form, numbers_of(matrix), left_of(matrix), right_of(matrix, rights_),
                factor);
  }
}

void LowRankSum::keep_residuals(CodecState& state, const GradientSet& applied) {
  std::vector<float> next;
  for (const Matrix& matrix : matrices_) {
    const GradientId id = matrix.piece.gradient;
    if (!applied.contains(id)) continue;
    state.replace(matrix.piece, 0,
                  std::span(residuals_).subspan(matrix.at, matrix.form.elements()));
    const auto right = std::span(rights_).subspan(matrix.right, matrix.form.right());
    next.assign(right.begin(), right.end());
    continue_right(matrix.form, next, matrix.seed);
    state.keep_factor(id, next);
  }
}

}  // namespace fastgpu::comm
