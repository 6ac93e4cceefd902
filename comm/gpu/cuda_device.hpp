// A GPU behind CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/gpu/device.hpp"

namespace fastgpu::comm::gpu {

/// Returns the number of the calling thread's current GPU. Throws ErrorKind::local without one.
std::size_t current_cuda_device();

/// A GPU for any thread, whatever that thread's current GPU is.
class CudaDevice final : public Device {
 public:
  /// Takes the calling thread's current GPU. Throws ErrorKind::local without one.
  CudaDevice();

  int number() const noexcept { return number_; }

  DeviceIdentity identity() const override { return identity_; }
  void as_current(const std::function<void()>& action) override;
  std::shared_ptr<const NcclLibrary> load_nccl(const std::string& path) const override;
  void check_is_here(const void* data) const override;
  std::byte* allocate(std::size_t bytes) override;
  void free(std::byte* memory) noexcept override;
  void pin(std::span<std::byte> host) override;
  void unpin(std::byte* host) noexcept override;
  StreamHandle make_stream() override;
  void destroy(StreamHandle stream) noexcept override;
  EventHandle make_event() override;
  void destroy(EventHandle event) noexcept override;
  void record(EventHandle event, StreamHandle stream) override;
  void wait(StreamHandle stream, EventHandle event) override;
  void synchronize(EventHandle event) override;
  bool has_passed(EventHandle event) override;
  void copy(std::span<std::byte> to, std::span<const std::byte> from, StreamHandle stream) override;
  void settle_network_writes() override;
  std::unique_ptr<PackList> prepare(std::span<const PlacedTensor> tensors) override;
  void pack(std::span<std::byte> buffer, PackList& list, const Conversion& conversion,
            StreamHandle stream) override;
  void pack_checked(std::span<std::byte> buffer, PackList& list, const Conversion& conversion,
                    StreamHandle stream) override;
  void unpack(PackList& list, std::span<const std::byte> buffer, const Conversion& conversion,
              StreamHandle stream) override;
  std::unique_ptr<CodeList> prepare(const CodecChoice& codec,
                                    std::span<const CodeStretch> stretches) override;
  void encode(std::span<std::byte> code, std::span<std::byte> numbers, CodeList& list,
              std::uint64_t seed, StreamHandle stream) override;
  void add_codes(std::span<std::byte> sum, std::span<const std::byte> code, CodeList& list,
                 StreamHandle stream) override;
  void clear(std::span<std::byte> memory, StreamHandle stream) override;
  void add(std::span<std::byte> sum, std::span<const std::byte> numbers,
           StreamHandle stream) override;
  void finish(std::span<std::byte> sum, ReduceOp op, int ranks, StreamHandle stream) override;

 private:
  int number_ = 0;
  DeviceIdentity identity_{};
};

}  // namespace fastgpu::comm::gpu
