#include "comm/gpu/memory.hpp"

#include <cassert>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "comm/gpu/check.hpp"

namespace fastgpu::comm::gpu {
namespace {

std::byte* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0)
    check(cudaMallocHost(&memory, bytes), "pinning " + std::to_string(bytes) + " bytes");
  return static_cast<std::byte*>(memory);
}

}  // namespace

void check(cudaError_t status, std::string_view doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // It is reported here: the thread's next check of its own does not meet it.
  const auto kind = status == cudaErrorMemoryAllocation ? ErrorKind::capacity : ErrorKind::local;
  throw Error(kind, std::string(doing) + ": " + cudaGetErrorString(status) + " (" +
                        cudaGetErrorName(status) + ")");
}

int device_count() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::byte* allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0)
    check(cudaMalloc(&memory, bytes), "allocating " + std::to_string(bytes) + " bytes of a GPU");
  return static_cast<std::byte*>(memory);
}

void free_device(std::byte* memory) noexcept {
  cudaFree(memory);
}

void free_pinned(std::byte* memory) noexcept {
  cudaFreeHost(memory);
}

StreamHandle create_stream() {
  StreamHandle stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return stream;
}

EventHandle create_event(Timing timing) {
  EventHandle event = nullptr;
  const unsigned flags = timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming;
  check(cudaEventCreateWithFlags(&event, flags), "creating an event");
  return event;
}

void destroy_stream(StreamHandle stream) noexcept {
  cudaStreamDestroy(stream);
}

void destroy_event(EventHandle event) noexcept {
  cudaEventDestroy(event);
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes), memory_(allocate_device(bytes)) {}

PinnedBuffer::PinnedBuffer(std::size_t bytes) : bytes_(bytes), memory_(allocate_pinned(bytes)) {}

Event::Event(Timing timing) : event_(create_event(timing)) {}

void Event::record(StreamHandle stream) {
  check(cudaEventRecord(event_.get(), stream), "recording an event");
}

void Event::synchronize() const {
  check(cudaEventSynchronize(event_.get()), "waiting for an event");
}

double seconds_between(const Event& start, const Event& end) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start.handle(), end.handle()), "timing");
  return milliseconds * 1e-3;
}

GpuStream::GpuStream() : stream_(create_stream()) {}

void GpuStream::synchronize() const {
  check(cudaStreamSynchronize(stream_.get()), "waiting for a stream");
}

void wait_for(StreamHandle stream, const Event& event) {
  check(cudaStreamWaitEvent(stream, event.handle(), 0), "making a stream wait");
}

void copy_async(std::span<std::byte> to, std::span<const std::byte> from, StreamHandle stream) {
  assert(to.size() == from.size());
  if (from.empty()) return;
  check(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDefault, stream),
        "copying " + std::to_string(from.size()) + " bytes");
}

void fill_async(std::span<std::byte> memory, std::byte value, StreamHandle stream) {
  if (memory.empty()) return;
  check(cudaMemsetAsync(memory.data(), static_cast<int>(value), memory.size(), stream),
        "filling " + std::to_string(memory.size()) + " bytes");
}

}  // namespace fastgpu::comm::gpu
