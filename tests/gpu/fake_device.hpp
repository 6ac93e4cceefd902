// A GPU that computes on the CPU: streams are threads that run late and in order, kernels are their
// twins of comm/kernels. It is stricter than a real one: it knows whose memory is whose.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "comm/gpu/device.hpp"

namespace fastgpu::test {

class FakeDevice final : public comm::gpu::Device {
 public:
  FakeDevice();
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
  ~FakeDevice() override;

  // ---- what tests do to it ----

  /// Streams do nothing until `go_on`.
  void hold();
  void go_on();

  /// Everything fails from now on, as after a fault in a kernel.
  void break_down(const std::string& why);

  void limit_memory(std::size_t bytes);  ///< For what is allocated from now on.
  void refuse_to_pin() { can_pin_ = false; }

  /// From now on it is the same GPU as `other`.
  void share_gpu_with(const FakeDevice& other) { identity_ = other.identity_; }

  /// What load_nccl gives; until then there is none.
  void install_nccl(std::shared_ptr<const comm::gpu::NcclLibrary> library) {
    nccl_ = std::move(library);
  }

  /// The calling thread's, within as_current; null elsewhere.
  static FakeDevice* current() noexcept;

  int packs() const { return packs_; }          ///< Launches.
  int lists() const { return lists_; }          ///< Lists prepared, each in memory of its own.
  int encodings() const { return encodings_; }  ///< Calls of encode.
  std::size_t pinned() const;                   ///< Bytes.
  std::size_t allocated() const;                ///< Bytes.
  std::size_t pageable_copies() const { return pageable_copies_; }

  /// Work of the test's own, in a stream.
  void run(comm::gpu::StreamHandle stream, std::function<void()> work);

  // ---- what it is ----

  comm::gpu::DeviceIdentity identity() const override { return identity_; }
  void as_current(const std::function<void()>& action) override;
  std::shared_ptr<const comm::gpu::NcclLibrary> load_nccl(const std::string& path) const override;
  void check_is_here(const void* data) const override;
  std::byte* allocate(std::size_t bytes) override;
  void free(std::byte* memory) noexcept override;
  void pin(std::span<std::byte> host) override;
  void unpin(std::byte* host) noexcept override;
  comm::gpu::StreamHandle make_stream() override;
  void destroy(comm::gpu::StreamHandle stream) noexcept override;
  comm::gpu::EventHandle make_event() override;
  void destroy(comm::gpu::EventHandle event) noexcept override;
  void record(comm::gpu::EventHandle event, comm::gpu::StreamHandle stream) override;
  void wait(comm::gpu::StreamHandle stream, comm::gpu::EventHandle event) override;
  void synchronize(comm::gpu::EventHandle event) override;
  bool has_passed(comm::gpu::EventHandle event) override;
  void copy(std::span<std::byte> to, std::span<const std::byte> from,
            comm::gpu::StreamHandle stream) override;
  std::unique_ptr<comm::gpu::PackList> prepare(
      std::span<const comm::gpu::PlacedTensor> tensors) override;
  void pack(std::span<std::byte> buffer, comm::gpu::PackList& list,
            const comm::Conversion& conversion, comm::gpu::StreamHandle stream) override;
  void pack_checked(std::span<std::byte> buffer, comm::gpu::PackList& list,
                    const comm::Conversion& conversion, comm::gpu::StreamHandle stream) override;
  void unpack(comm::gpu::PackList& list, std::span<const std::byte> buffer,
              const comm::Conversion& conversion, comm::gpu::StreamHandle stream) override;
  std::unique_ptr<comm::gpu::CodeList> prepare(
      const comm::CodecChoice& codec, std::span<const comm::gpu::CodeStretch> stretches) override;
  void encode(std::span<std::byte> code, std::span<std::byte> numbers, comm::gpu::CodeList& list,
              std::uint64_t seed, comm::gpu::StreamHandle stream) override;
  void add_codes(std::span<std::byte> sum, std::span<const std::byte> code,
                 comm::gpu::CodeList& list, comm::gpu::StreamHandle stream) override;
  void clear(std::span<std::byte> memory, comm::gpu::StreamHandle stream) override;
  void add(std::span<std::byte> sum, std::span<const std::byte> numbers,
           comm::gpu::StreamHandle stream) override;
  void finish(std::span<std::byte> sum, comm::ReduceOp op, int ranks,
              comm::gpu::StreamHandle stream) override;

 private:
  class Stream;
  struct Event;
  using Lock = std::unique_lock<std::mutex>;

  Stream& stream_of(comm::gpu::StreamHandle handle);
  std::shared_ptr<Event> event_of(comm::gpu::EventHandle handle) const;
  bool is_mine(const void* data, std::size_t bytes) const;
  void check_works() const;
  void check_device(std::span<const std::byte> memory) const;
  void check_list(const comm::gpu::PackList& list, std::span<const std::byte> buffer,
                  comm::ElementType type) const;
  void check_stretches(const comm::gpu::CodeList& list, std::span<const std::byte> code,
                       std::span<const std::byte> numbers) const;
  /// Checks the device and its memory, and puts work into a stream.
  void run_on(std::initializer_list<std::span<const std::byte>> memory,
              comm::gpu::StreamHandle stream, std::function<void()> work);
  enum class Search : std::uint8_t { off, on };
  void pack_with(Search search, std::span<std::byte> buffer, comm::gpu::PackList& list,
                 const comm::Conversion& conversion, comm::gpu::StreamHandle stream);

  comm::gpu::DeviceIdentity identity_;
  std::shared_ptr<const comm::gpu::NcclLibrary> nccl_;  ///< Shared with who has loaded it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< Events, holding, breaking down.
  bool is_held_ = false;
  std::string failure_;
  std::map<const std::byte*, std::unique_ptr<std::byte[]>> memory_;
  std::map<const std::byte*, std::size_t> sizes_;
  std::map<const std::byte*, std::size_t> pinned_;
  std::size_t limit_ = SIZE_MAX;
  std::atomic<bool> can_pin_{true};
  std::atomic<int> packs_{0};
  std::atomic<int> lists_{0};
  std::atomic<int> encodings_{0};
  std::atomic<std::size_t> pageable_copies_{0};
  std::map<comm::gpu::EventHandle, std::shared_ptr<Event>> events_;  ///< Shared with streams.
  std::map<comm::gpu::StreamHandle, std::unique_ptr<Stream>> streams_;
};

}  // namespace fastgpu::test
