// The sum over all ranks of one bucket whose numbers a codec changes, step after step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/gradients/codec_state.hpp"
#include "comm/gradients/gradient_set.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {

/// The result is the same to the last bit on every rank. Each step calls the functions below once,
/// in their order, and in the same order for all sums of a stream.
class CodeSum {
 public:
  CodeSum() = default;
  CodeSum(const CodeSum&) = delete;
  CodeSum& operator=(const CodeSum&) = delete;
  virtual ~CodeSum() = default;

  /// Begins: `op` is a sum or an average. `step` is the number on which chance depends.
  virtual void begin(ReduceOp op, std::uint64_t step) = 0;

  /// Goes on if this rank need not wait for that; may be called any number of times. Returns true
  /// once reduce_in_node has nothing left to do.
  virtual bool reduce_in_node_if_complete() = 0;

  virtual void reduce_in_node() = 0;
  /// Takes codes that others have to be made of.
  virtual void reduce_across_nodes() = 0;
  /// Takes the last codes, and starts to give the ranks of the node what they are the sum of.
  virtual void broadcast_in_node() = 0;
  virtual void wait() = 0;

  /// Keeps the residuals of gradients that are in `applied`, after a step whose results are used.
  virtual void keep_residuals(CodecState& state, const GradientSet& applied) = 0;

  // Residuals that keep_residuals has not put into `state`, since they are on a device; and
  // memories.
  virtual void save_residuals(CodecState&) const {}
  virtual void load_residuals(const CodecState&) {}

  /// Returns the length of the codes of the whole bucket, from one rank of each node.
  virtual std::size_t encoded_bytes() const noexcept = 0;
};

}  // namespace fastgpu::comm
