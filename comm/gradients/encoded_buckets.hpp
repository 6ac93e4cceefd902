// The sums of all buckets whose numbers are encoded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/codecs/codec_table.hpp"
#include "comm/gradients/code_sum.hpp"
#include "comm/gradients/device_gradients.hpp"
#include "comm/gradients/encoded_sum.hpp"
#include "comm/gradients/low_rank_sum.hpp"

namespace fastgpu::comm {

class EncodedBuckets {
 public:
  /// The encoding of buckets where their numbers are.
  struct OnDevice {
    DeviceGradients* gradients = nullptr;  ///< Null: everything is encoded on the host.
    CodecChoice codec{};                   ///< That of the form.
  };

  /// Borrows everything. Bucket b belongs to stream b modulo the number of streams; `levels` has
  /// one for each.
  EncodedBuckets(EncodedForm form, const FusionPlan& plan, std::span<std::byte> buffer,
                 std::span<Communicator> streams, std::span<ReductionLevels> levels,
                 const OnDevice& device);

  /// Matrices as factors. Borrows as above; `others` has another communicator of the same ranks for
  /// each stream.
  EncodedBuckets(const GradientTable& table, const GradientSettings& settings,
                 const FusionPlan& plan, std::span<std::byte> buffer,
                 std::span<Communicator> streams, std::span<Communicator> others,
                 const CodecState& state);

  /// Returns true if this bucket is encoded for `op`; otherwise it is sent as it is.
  bool has(std::size_t bucket, ReduceOp op) const noexcept {
    return is_used_ && sums_[bucket] != nullptr && (op == ReduceOp::sum || op == ReduceOp::average);
  }
  /// Sets whether buckets are encoded from now on; otherwise they are sent as they are.
  void use(bool is_used) noexcept { is_used_ = is_used; }
  /// Returns true if this bucket is encoded for `op` on the device that has its numbers.
  bool has_on_device(std::size_t bucket, ReduceOp op) const noexcept {
    return has(bucket, op) && is_on_device_[bucket];
  }
  void save_residuals(CodecState& state) const;
  void load_residuals(const CodecState& state);
  CodeSum& operator[](std::size_t bucket) const noexcept { return *sums_[bucket]; }

 private:
  bool is_used_ = true;
  std::vector<CodeLevels> levels_;
  std::vector<std::unique_ptr<CodeSum>> sums_;  ///< The sums by bucket; null for one without codes.
  std::vector<bool> is_on_device_;              ///< True for each sum that a device makes.
};

}  // namespace fastgpu::comm
