// The gradients on all devices of a rank: models that are divided between GPUs have several.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/fusion/fusion.hpp"
#include "comm/gpu/device.hpp"
#include "comm/gpu/device_collectives.hpp"
#include "comm/gradients/device_gradients.hpp"
#include "comm/gradients/gradient_set.hpp"
#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm {

/// The gradients of each device, in the order of the devices' first gradients.
class TensorsOnDevices {
 public:
  /// Adds the next gradient. `device` is null for one of the host.
  void add(std::span<std::byte> values, const std::shared_ptr<gpu::Device>& device);

  /// Returns true if the gradient has elements on a device.
  bool has(GradientId id) const noexcept { return device_of_[id.value].has_value(); }
  std::span<const DeviceTensors> devices() const noexcept { return devices_; }
  /// Returns the index of a gradient's device; only for gradients that are on one.
  std::size_t device_of(GradientId id) const noexcept { return *device_of_[id.value]; }

 private:
  std::vector<DeviceTensors> devices_;
  std::vector<std::optional<std::size_t>>
      device_of_;  ///< Absent on the host, and for none to move.
};

/// Returns the collectives that sum buckets on a device; null if the host sums them. All ranks call
/// it at once: their memory may differ, but not how gradients are summed. Throws ErrorKind::usage
/// if NCCL is required and cannot sum numbers of this wire, and as gpu::choose_path() does.
std::unique_ptr<gpu::DeviceCollectives> device_sums_of(Communicator& communicator,
                                                       const GradientSettings& settings,
                                                       const TensorsOnDevices& tensors);

/// The packing of gradients on all devices of a rank. A bucket may have gradients of several: each
/// device packs its own.
class GradientsOnDevices {
 public:
  /// Borrows everything; there is a device at least. `settings.collectives` are for a single one.
  GradientsOnDevices(const TensorsOnDevices& tensors, const FusionPlan& plan,
                     std::span<std::byte> buffer, const DeviceGradients::Settings& settings,
                     const DeviceGradients::Reports& reports);

  // Each does for all devices what DeviceGradients does for one.
  void begin_step(const DeviceGradients::Scale& scale, const std::vector<bool>& stays = {});
  void ready(GradientId id, gpu::StreamHandle stream);
  void drain();
  void unpack(std::size_t bucket, const GradientSet& ready);

  /// Makes later work in `stream` come after all unpacking. Blocks until then without a stream, and
  /// with several devices: only one of them has the stream.
  void finish_step(std::optional<gpu::StreamHandle> stream);

  /// Returns the device that has all gradients which are not the host's; null if there are several.
  DeviceGradients* only() noexcept {
    return devices_.size() == 1 ? devices_.front().get() : nullptr;
  }

  /// Returns the device that sums buckets; null if the host does.
  DeviceGradients* summing() noexcept;

 private:
  const TensorsOnDevices& tensors_;
  std::vector<std::unique_ptr<DeviceGradients>> devices_;
};

}  // namespace fastgpu::comm
