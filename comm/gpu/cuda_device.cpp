#include "comm/gpu/cuda_device.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "comm/gpu/check.hpp"
#include "comm/gpu/kernels.hpp"
#include "comm/gpu/nccl_library.hpp"

namespace fastgpu::comm::gpu {
namespace {

/// A scope in which a GPU is the thread's current one; the earlier one is restored at its end.
class Current {
 public:
  explicit Current(int number) {
    check(cudaGetDevice(&before_), "asking for the current GPU");
    if (before_ != number) check(cudaSetDevice(number), "choosing GPU " + std::to_string(number));
    is_changed_ = before_ != number;
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    if (is_changed_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool is_changed_ = false;
};

class CudaPackList final : public PackList {
 public:
  explicit CudaPackList(std::span<const PlacedTensor> placed)
      : tensors(placed), non_finite(placed.size()) {}
  std::optional<NonFinite> found() const override { return non_finite.first(); }

  TensorList tensors;
  NonFiniteTable non_finite;
};

CudaPackList& own(PackList& list) {
  return static_cast<CudaPackList&>(list);  // NOLINT: lists are made only here.
}

class CudaCodeList final : public CodeList {
 public:
  CudaCodeList(const CodecChoice& codec, std::span<const CodeStretch> stretches)
      : table(codec, stretches) {}

  CodeTable table;
};

const CodeTable& own(const CodeList& list) {
  return static_cast<const CudaCodeList&>(list).table;  // NOLINT: as above.
}

}  // namespace

std::size_t current_cuda_device() {
  int number = 0;
  check(cudaGetDevice(&number), "looking for a GPU");
  return static_cast<std::size_t>(number);
}

CudaDevice::CudaDevice() : number_(static_cast<int>(current_cuda_device())) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, number_), "asking for a GPU's identity");
  static_assert(sizeof(properties.uuid.bytes) == sizeof(identity_));
  std::ranges::copy(properties.uuid.bytes, identity_.begin());
}

void CudaDevice::as_current(const std::function<void()>& action) {
  const Current current(number_);
  action();
}

std::shared_ptr<const NcclLibrary> CudaDevice::load_nccl(const std::string& path) const {
  return std::make_shared<NcclLibrary>(path);
}

void CudaDevice::check_is_here(const void* data) const {
  cudaPointerAttributes about{};
  check(cudaPointerGetAttributes(&about, data), "asking where the data is");
  const bool is_on_device =
      about.type == cudaMemoryTypeDevice || about.type == cudaMemoryTypeManaged;
  if (!is_on_device)
    throw Error(ErrorKind::usage,
                "the data is in the host's memory, not that of GPU " + std::to_string(number_));
  if (about.type == cudaMemoryTypeDevice && about.device != number_)
    throw Error(ErrorKind::usage, "the data is in the memory of GPU " +
                                      std::to_string(about.device) + ", not that of GPU " +
                                      std::to_string(number_));
}

std::byte* CudaDevice::allocate(std::size_t bytes) {
  const Current current(number_);
  return allocate_device(bytes);
}

void CudaDevice::free(std::byte* memory) noexcept {
  free_device(memory);
}

void CudaDevice::pin(std::span<std::byte> host) {
  const Current current(number_);
  const cudaError_t status = cudaHostRegister(host.data(), host.size(), cudaHostRegisterPortable);
  if (status == cudaSuccess) return;
  cudaGetLastError();
  // Drivers and containers refuse such memory by several errors: all mean that copies are slower.
  throw Error(ErrorKind::capacity,
              "pinning " + std::to_string(host.size()) + " bytes: " + cudaGetErrorString(status));
}

void CudaDevice::unpin(std::byte* host) noexcept {
  cudaHostUnregister(host);
}

StreamHandle CudaDevice::make_stream() {
  const Current current(number_);
  return create_stream();
}

void CudaDevice::destroy(StreamHandle stream) noexcept {
  destroy_stream(stream);
}

EventHandle CudaDevice::make_event() {
  const Current current(number_);
  return create_event(Timing::off);
}

void CudaDevice::destroy(EventHandle event) noexcept {
  destroy_event(event);
}

void CudaDevice::record(EventHandle event, StreamHandle stream) {
  const Current current(number_);  // A null stream is that of the current GPU.
  check(cudaEventRecord(event, stream), "recording an event");
}

void CudaDevice::wait(StreamHandle stream, EventHandle event) {
  const Current current(number_);
  check(cudaStreamWaitEvent(stream, event, 0), "making a stream wait");
}

void CudaDevice::synchronize(EventHandle event) {
  check(cudaEventSynchronize(event), "waiting for a GPU");
}

bool CudaDevice::has_passed(EventHandle event) {
  const cudaError_t status = cudaEventQuery(event);
  if (status != cudaErrorNotReady) check(status, "asking a GPU how far it is");
  if (status == cudaErrorNotReady) cudaGetLastError();  // The next launch would fail with it.
  return status == cudaSuccess;
}

void CudaDevice::copy(std::span<std::byte> to, std::span<const std::byte> from,
                      StreamHandle stream) {
  const Current current(number_);
  copy_async(to, from, stream);
}

void CudaDevice::settle_network_writes() {
  const Current current(number_);
  const cudaError_t status = cudaDeviceFlushGPUDirectRDMAWrites(
      cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, cudaFlushGPUDirectRDMAWritesToOwner);
  if (status == cudaErrorNotSupported) {  // The device needs none.
    cudaGetLastError();
    return;
  }
  check(status, "waiting for what the network has written");
}

std::unique_ptr<PackList> CudaDevice::prepare(std::span<const PlacedTensor> tensors) {
  const Current current(number_);
  return std::make_unique<CudaPackList>(tensors);
}

void CudaDevice::pack(std::span<std::byte> buffer, PackList& list, const Conversion& conversion,
                      StreamHandle stream) {
  const Current current(number_);
  const TensorList& tensors = own(list).tensors;
  gpu::pack(buffer.first(packed_bytes(tensors, conversion.to)), tensors, conversion, stream);
}

void CudaDevice::pack_checked(std::span<std::byte> buffer, PackList& list,
                              const Conversion& conversion, StreamHandle stream) {
  const Current current(number_);
  CudaPackList& all = own(list);
  gpu::pack_checked(buffer.first(packed_bytes(all.tensors, conversion.to)), all.tensors, conversion,
                    all.non_finite, stream);
  all.non_finite.fetch(stream);
}

void CudaDevice::unpack(PackList& list, std::span<const std::byte> buffer,
                        const Conversion& conversion, StreamHandle stream) {
  const Current current(number_);
  const TensorList& tensors = own(list).tensors;
  gpu::unpack(tensors, buffer.first(packed_bytes(tensors, conversion.from)), conversion, stream);
}

std::unique_ptr<CodeList> CudaDevice::prepare(const CodecChoice& codec,
                                              std::span<const CodeStretch> stretches) {
  const Current current(number_);
  return std::make_unique<CudaCodeList>(codec, stretches);
}

void CudaDevice::encode(std::span<std::byte> code, std::span<std::byte> numbers, CodeList& list,
                        std::uint64_t seed, StreamHandle stream) {
  const Current current(number_);
  gpu::encode(code, numbers, own(list), seed, stream);
}

void CudaDevice::add_codes(std::span<std::byte> sum, std::span<const std::byte> code,
                           CodeList& list, StreamHandle stream) {
  const Current current(number_);
  gpu::add_codes(sum, code, own(list), stream);
}

void CudaDevice::clear(std::span<std::byte> memory, StreamHandle stream) {
  const Current current(number_);
  fill_async(memory, std::byte{0}, stream);
}

void CudaDevice::add(std::span<std::byte> sum, std::span<const std::byte> numbers,
                     StreamHandle stream) {
  const Current current(number_);
  gpu::reduce_into(sum, numbers, {ElementType::float32, ReduceOp::sum}, stream);
}

void CudaDevice::finish(std::span<std::byte> sum, ReduceOp op, int ranks, StreamHandle stream) {
  const Current current(number_);
  gpu::finish(sum, {ElementType::float32, op}, ranks, stream);
}

}  // namespace fastgpu::comm::gpu
