// The gradients that are on a device: their way into the fusion buffer and back.
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
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/gpu/device_collectives.hpp"
#include "comm/gpu/device_owned.hpp"
#include "comm/gradients/gradient_set.hpp"

namespace fastgpu::comm {

/// The places of the gradients. Those of the host have no memory here.
struct DeviceTensors {
  std::shared_ptr<gpu::Device> device;     ///< Shared with its lender; null if all are on the host.
  std::vector<std::span<std::byte>> of{};  ///< The memory of each gradient.

  bool has(GradientId id) const noexcept { return !of[id.value].empty(); }
};

/// A piece that is in the fusion buffer now.
struct PackedPiece {
  std::uint32_t bucket = 0;
  GradientPiece piece;
  std::optional<std::size_t> non_finite{};  ///< The index in the piece of the first such element.
};

/// The packing of gradients on a device. The pieces of a bucket are packed in one launch,
/// converted, scaled and searched, once the last of them is complete. A thread reports when they
/// can be summed. With collectives for the device, buckets are summed there, and their parts on the
/// host are brought there. Otherwise one copy brings the pieces over.
class DeviceGradients {
 public:
  struct Settings {
    std::span<const ElementType> types;             ///< The types of the gradients, by id.
    bool is_searched = false;                       ///< Searched for NaN and infinity.
    gpu::DeviceCollectives* collectives = nullptr;  ///< Null: buckets are summed on the host.
  };
  /// The callbacks of the thread, in the order in which buckets were packed; `failed` once, at the
  /// end.
  struct Reports {
    std::function<void(const PackedPiece& piece)> packed;
    std::function<void(const Error& error)> failed;
  };
  using Scale = std::function<double(ElementType wire)>;

  /// Borrows everything. Throws if the device refuses.
  DeviceGradients(const DeviceTensors& tensors, const FusionPlan& plan, std::span<std::byte> buffer,
                  Settings settings, Reports reports);
  DeviceGradients(const DeviceGradients&) = delete;
  DeviceGradients& operator=(const DeviceGradients&) = delete;
  ~DeviceGradients();

  /// Begins a step; called between steps. `stays` has the buckets that are summed on the device,
  /// though has_sums is false; it may be empty.
  void begin_step(Scale scale, std::vector<bool> stays = {});

  /// Takes a gradient that is complete once `stream` has passed its present content. Any thread may
  /// call it.
  void ready(GradientId id, gpu::StreamHandle stream);

  /// Packs the rest, and blocks until everything is in the buffer, or has failed.
  void drain();

  /// A bucket that is being summed on the device.
  class Sum {
   public:
    /// Blocks until the sum is ready, and the host's part of it is in the buffer.
    void wait();

   private:
    friend class DeviceGradients;
    Sum(DeviceGradients& owner, std::uint32_t bucket, gpu::DeviceCollectives::Request request)
        : owner_(&owner), bucket_(bucket), request_(std::move(request)) {}

    DeviceGradients* owner_;
    std::uint32_t bucket_;
    gpu::DeviceCollectives::Request request_;
  };

  /// Returns true if buckets are summed on the device.
  bool has_sums() const noexcept { return collectives_ != nullptr; }

  /// Starts the sum of a bucket, all of which is packed, or 0 in the buffer.
  Sum start_sum(std::uint32_t bucket, Reduction reduction);

  // The numbers of a bucket that stays on the device, for a sum of codes.
  gpu::Device& device() const noexcept { return device_; }
  gpu::StreamHandle stream() const noexcept { return stream_.get(); }
  bool has_all_of(std::uint32_t bucket) const;  ///< All of its gradients are on this device.
  std::span<std::byte> wire_of(std::uint32_t bucket) const;  ///< The bucket with the gap behind it.
  /// Sets the numbers of gradients that are not ready to 0.
  void clear_missing(std::uint32_t bucket);

  /// Unpacks the part of a bucket that is in `ready`; sums made on the host are copied first.
  void unpack(std::size_t bucket, const GradientSet& ready);

  /// Makes later work in `stream` come after all unpacking; without a stream, blocks until then.
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
  /// The part of a bucket that is on the device.
  struct Part {
    std::vector<Group> groups;
    std::vector<Stretch> stretches;  ///< Stretches of the fusion buffer, from end to end.
  };
  /// The part of a bucket for one choice of its pieces. Models leave the same parameters unused in
  /// every step, and a part takes memory of the device.
  struct KnownPart {
    std::vector<bool> is_taken;
    std::shared_ptr<const Part> part;
  };
  struct Ready {
    std::uint32_t bucket = 0;
    std::shared_ptr<const Part> part;  ///< Shared by the plan and the work under way.
    gpu::DeviceEvent arrived;
  };

  static std::vector<bool> taken(const Bucket& bucket,
                                 const std::function<bool(GradientId)>& is_in);
  std::vector<Stretch> stretches_of(const Bucket& bucket, const std::vector<bool>& is_taken) const;
  bool stays(std::size_t bucket) const { return has_sums() || (!stays_.empty() && stays_[bucket]); }
  void copy_to_buffer(std::span<const Stretch> stretches);
  void copy_from_buffer(std::span<const Stretch> stretches);
  void wait_for_copies();
  void bring_over(const PackedPiece& found);
  std::shared_ptr<Part> part_of(const Bucket& bucket, const std::vector<bool>& is_taken) const;
  std::shared_ptr<const Part> known_part(std::size_t bucket,
                                         const std::function<bool(GradientId)>& is_in);
  void pack(std::uint32_t bucket, const std::shared_ptr<const Part>& part);
  void work(const std::stop_token& stop);
  void report(const Ready& ready);

  const DeviceTensors& tensors_;
  const FusionPlan& plan_;
  std::span<std::byte> buffer_;
  std::vector<ElementType> types_;
  bool is_searched_;
  gpu::DeviceCollectives* collectives_;
  gpu::Device& device_;
  gpu::Pinned pinned_;
  std::vector<std::byte> zeros_;  ///< Outlives the copies that are made of it.
  gpu::DeviceMemory wire_;        ///< Laid out like the fusion buffer.
  gpu::DeviceStream stream_;
  gpu::DeviceEvent unpacked_;
  std::vector<gpu::DeviceEvent> completed_;  ///< One event for each gradient.
  /// One part for each bucket; shared with work under way.
  std::vector<std::shared_ptr<const Part>> parts_;
  std::vector<std::deque<KnownPart>> known_;  ///< The incomplete parts of each bucket, newest last.
  std::vector<std::vector<std::uint32_t>> buckets_of_;  ///< The buckets of each gradient.
  Reports reports_;
  Scale scale_;              ///< The factor for packed numbers.
  std::vector<bool> stays_;  ///< The answer for each bucket, or empty. Unchanged within a step.

  std::mutex mutex_;
  std::condition_variable_any changed_;
  GradientSet ready_;
  /// The number for each bucket; 0 once it is packed.
  std::vector<std::size_t> pieces_left_;
  std::vector<gpu::DeviceCollectives::Request> sums_;  ///< Requests of this step.
  std::deque<Ready> queue_;
  bool is_reporting_ = false;
  std::optional<Error> failure_;
  std::jthread worker_;  ///< Declared last, to end before what it works with.
};

}  // namespace fastgpu::comm
