// The gradients of an entry that lie on a device: how they get into the fusion buffer and back.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/entry/fusion.hpp"
#include "comm/entry/gradient_set.hpp"
#include "comm/gpu/device_owned.hpp"

namespace fastgpu::comm {

/// Where the entry's gradients lie. Those of the host have no memory here.
struct DeviceTensors {
  std::shared_ptr<gpu::Device> device;  ///< Shared with whoever lent it; null where all lie here.
  std::vector<std::span<std::byte>> of{};  ///< By gradient.

  bool has(GradientId id) const noexcept { return !of[id.value].empty(); }
};

/// A piece that is in the fusion buffer now.
struct PackedPiece {
  std::uint32_t bucket = 0;
  GradientPiece piece;
  std::optional<std::size_t> non_finite{};  ///< The index in the piece of the first such element.
};

/// The pieces of a bucket are packed in one launch, converted, scaled and searched, once the last
/// of them is complete; one copy brings them over, and a thread reports when that is done.
class DeviceGradients {
 public:
  struct Settings {
    std::span<const ElementType> types;  ///< Of gradients, by id.
    bool is_searched = false;            ///< For NaN and infinity.
  };
  /// Called by the thread, in the order in which buckets were packed; `failed` once, at the end.
  struct Reports {
    std::function<void(const PackedPiece& piece)> packed;
    std::function<void(const Error& error)> failed;
  };
  using Scale = std::function<double(ElementType wire)>;

  /// Borrows everything. Throws what the device refuses.
  DeviceGradients(const DeviceTensors& tensors, const FusionPlan& plan, std::span<std::byte> buffer,
                  Settings settings, Reports reports);
  DeviceGradients(const DeviceGradients&) = delete;
  DeviceGradients& operator=(const DeviceGradients&) = delete;
  ~DeviceGradients();

  /// Between steps.
  void begin_step(Scale scale);

  /// The gradient is complete once `stream` has passed what is in it now. Any thread.
  void ready(GradientId id, gpu::StreamHandle stream);

  /// Packs what is left, and blocks until everything is in the buffer, or has failed.
  void drain();

  /// Copies and unpacks what of a bucket is in `ready`.
  void unpack(std::size_t bucket, const GradientSet& ready);

  /// What is put into `stream` from now on comes after all that was unpacked; without a stream this
  /// blocks until it is.
  void finish_step(std::optional<gpu::StreamHandle> stream);

 private:
  /// Pieces of one type in a bucket that are ready at the same time.
  struct Group {
    ElementType type = ElementType::float32;
    std::vector<GradientPiece> pieces;
    std::unique_ptr<gpu::PackList> list;
  };
  struct Stretch {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  /// What of a bucket lies on the device.
  struct Part {
    std::vector<Group> groups;
    std::vector<Stretch> stretches;  ///< In the fusion buffer, from end to end.
  };
  struct Ready {
    std::uint32_t bucket = 0;
    std::shared_ptr<const Part> part;  ///< Shared by the plan and what is under way.
    gpu::DeviceEvent arrived;
  };

  std::shared_ptr<Part> part_of(const Bucket& bucket,
                                const std::function<bool(GradientId)>& is_in) const;
  void pack(std::uint32_t bucket, const std::shared_ptr<const Part>& part);
  void work(const std::stop_token& stop);
  void report(const Ready& ready) const;

  const DeviceTensors& tensors_;
  const FusionPlan& plan_;
  std::span<std::byte> buffer_;
  std::vector<ElementType> types_;
  bool is_searched_;
  gpu::Device& device_;
  gpu::Pinned pinned_;
  gpu::DeviceMemory wire_;  ///< Laid out as the fusion buffer.
  gpu::DeviceStream stream_;
  gpu::DeviceEvent unpacked_;
  std::vector<gpu::DeviceEvent> completed_;         ///< Of each gradient.
  std::vector<std::shared_ptr<const Part>> parts_;  ///< Of each bucket; shared with work under way.
  std::vector<std::vector<std::uint32_t>> buckets_of_;  ///< Of each gradient.
  Reports reports_;
  Scale scale_;  ///< What is packed is multiplied by.

  std::mutex mutex_;
  std::condition_variable_any changed_;
  GradientSet ready_;
  std::vector<std::size_t> pieces_left_;  ///< Of each bucket; 0 once it is packed.
  std::deque<Ready> queue_;
  bool is_reporting_ = false;
  std::optional<Error> failure_;
  std::jthread worker_;  ///< Last: it ends before what it works with.
};

}  // namespace fastgpu::comm
