#include "comm/gradients/gradients_on_devices.hpp"

#include <algorithm>

#include "comm/gpu/choose.hpp"
#include "comm/gradients/codec_traits.hpp"

namespace fastgpu::comm {

void TensorsOnDevices::add(std::span<std::byte> values,
                           const std::shared_ptr<gpu::Device>& device) {
  auto found = std::ranges::find(devices_, device, &DeviceTensors::device);
  if (device && found == devices_.end()) {
    devices_.push_back({device, std::vector<std::span<std::byte>>(device_of_.size())});
    found = devices_.end() - 1;
  }
  for (DeviceTensors& each : devices_)
    each.of.push_back(each.device == device ? values : std::span<std::byte>());
  device_of_.emplace_back();
  if (device && !values.empty())
    device_of_.back() = static_cast<std::size_t>(found - devices_.begin());
}

std::unique_ptr<gpu::DeviceCollectives> device_sums_of(Communicator& communicator,
                                                       const GradientSettings& settings,
                                                       const TensorsOnDevices& tensors) {
  gpu::DeviceSettings wish = settings.device;
  const WireTraits wire = traits_of(settings, communicator.size());
  if (wish.path == gpu::DevicePath::nccl) check_allowed(wire, Exchange::nccl);
  // Residuals and velocities are added to numbers in the host's buffer.
  if (!allows(wire.kind, Exchange::nccl) || settings.wire == WireType::encoded)
    wish.path = gpu::DevicePath::staged;
  std::vector<std::shared_ptr<gpu::Device>> devices;
  for (const DeviceTensors& each : tensors.devices())
    devices.push_back(each.device);
  return gpu::choose_path(communicator, devices, wish).nccl;
}

GradientsOnDevices::GradientsOnDevices(const TensorsOnDevices& tensors, const FusionPlan& plan,
                                       std::span<std::byte> buffer,
                                       const DeviceGradients::Settings& settings,
                                       const DeviceGradients::Reports& reports)
    : tensors_(tensors) {
  for (const DeviceTensors& each : tensors_.devices())
    devices_.push_back(std::make_unique<DeviceGradients>(each, plan, buffer, settings, reports));
}

void GradientsOnDevices::begin_step(const DeviceGradients::Scale& scale,
                                    const std::vector<bool>& stays) {
  for (const auto& device : devices_)
    device->begin_step(scale, stays);
}

void GradientsOnDevices::ready(GradientId id, gpu::StreamHandle stream) {
  devices_[tensors_.device_of(id)]->ready(id, stream);
}

void GradientsOnDevices::drain() {
  for (const auto& device : devices_)
    device->drain();
}

void GradientsOnDevices::unpack(std::size_t bucket, const GradientSet& ready) {
  for (const auto& device : devices_)
    device->unpack(bucket, ready);
}

void GradientsOnDevices::finish_step(std::optional<gpu::StreamHandle> stream) {
  if (devices_.size() > 1) stream.reset();
  for (const auto& device : devices_)
    device->finish_step(stream);
}

DeviceGradients* GradientsOnDevices::summing() noexcept {
  return devices_.front()->has_sums() ? devices_.front().get() : nullptr;
}

}  // namespace fastgpu::comm
