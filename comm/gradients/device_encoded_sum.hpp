// The sum over all ranks of one bucket whose numbers are encoded where they are: on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/codecs/codec_table.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/gpu/device_owned.hpp"
#include "comm/gradients/code_sum.hpp"
#include "comm/gradients/codec_state.hpp"
#include "comm/gradients/device_gradients.hpp"
#include "comm/gradients/encoded_sum.hpp"
#include "comm/gradients/gradient_set.hpp"

namespace fastgpu::comm {

/// A sum of codes with the bits of EncodedSum: other ranks may have theirs on the host. Codes alone
/// are copied to the host and back, and the residuals stay on the device.
class DeviceEncodedSum final : public CodeSum {
 public:
  /// Borrows everything. All gradients of bucket `number` are on the device of `gradients`, and
  /// each rank of `levels` encodes all of its numbers.
  DeviceEncodedSum(const CodecChoice& codec, EncodedForm form, const CodeLevels& levels,
                   const Bucket& bucket, std::uint32_t number, DeviceGradients& gradients);
  ~DeviceEncodedSum() override;

  void begin(ReduceOp op, std::uint64_t step) override;
  bool reduce_in_node_if_complete() override;
  void reduce_in_node() override;
  void reduce_across_nodes() override;
  void broadcast_in_node() override;
  void wait() override {}  ///< Later work in the stream of the device comes after the sum.
  void keep_residuals(CodecState& state, const GradientSet& applied) override;
  void save_residuals(CodecState& state) const override;
  void load_residuals(const CodecState& state) override;
  std::size_t encoded_bytes() const noexcept override;

 private:
  using Codes = std::unique_ptr<gpu::CodeList>;

  bool is_encoded_again() const noexcept { return parts_.size() > 1; }
  std::size_t ranks() const noexcept { return levels_->senders.size(); }
  std::size_t self() const noexcept {
    return static_cast<std::size_t>(levels_->across->rank().value);
  }
  template <class Byte>
  std::span<Byte> code_at(std::span<Byte> codes, std::size_t index) const {
    return codes.subspan(index * code_bytes_, code_bytes_);
  }
  std::span<std::byte> numbers_of(const gpu::DeviceMemory& memory, std::size_t at,
                                  std::size_t count) const {
    return memory.span().subspan(at * sizeof(float), count * sizeof(float));
  }
  Codes prepared(const CodecChoice& codec, std::span<const std::size_t> parts,
                 std::size_t before) const;
  template <class Action>
  void on_device(Action action) const;
  void send();
  void add_all();
  void encode_sum();
  void fetch_codes();

  EncodedForm form_;
  const CodeLevels* levels_;
  const Bucket* bucket_;
  std::uint32_t number_;
  DeviceGradients& gradients_;
  gpu::Device& device_;
  gpu::StreamHandle stream_;
  std::span<std::byte> wire_;  ///< The numbers of the bucket on the device, and of its gap.
  std::vector<CodePart> parts_;
  std::size_t code_bytes_ = 0;  ///< The length of each message.
  ReduceOp op_ = ReduceOp::average;
  std::uint64_t step_ = 0;
  bool is_sent_ = false;  ///< The codes of this step are on their way.

  std::vector<std::byte> host_out_;    ///< Codes for each rank; unused if all get the same one.
  std::vector<std::byte> host_codes_;  ///< Codes from each rank.
  std::optional<gpu::Pinned> pinned_out_;
  std::optional<gpu::Pinned> pinned_codes_;
  std::optional<gpu::DeviceMemory> out_;    ///< The codes of this rank.
  std::optional<gpu::DeviceMemory> codes_;  ///< The counterpart of host_codes_.
  // Memory of codecs with feedback alone.
  std::optional<gpu::DeviceMemory> values_;  ///< The numbers, and then what is left of them.
  std::optional<gpu::DeviceMemory> kept_;    ///< The residuals for the next step.
  std::optional<gpu::DeviceMemory> sums_;    ///< The sums that are encoded again, and their rest.
  Codes all_;                                ///< The codes of all parts, each in its place of out_.
  std::vector<Codes> lists_;                 ///< The codes of each part.
  Codes of_sums_;                   ///< The blocks of this rank's part, whose numbers are in sums_.
  gpu::DeviceEvent done_;           ///< Passed once the device has done all that is asked of it.
  std::optional<Handle> exchange_;  ///< Declared last, to end before the memory that it uses.
};

}  // namespace fastgpu::comm
