#include "comm/bench/device_step.hpp"

#include <chrono>
#include <functional>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "comm/bench/median.hpp"
#include "comm/gpu/device_owned.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/rendezvous/connections.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr int kWarmUps = 3;
constexpr int kTimes = 15;

double median_seconds(const std::function<void()>& action) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (int i = -kWarmUps; i < kTimes; ++i) {
    const auto begin = Clock::now();
    action();
    const std::chrono::duration<double> taken = Clock::now() - begin;
    if (i >= 0) seconds.push_back(taken.count());
  }
  return median(std::move(seconds));
}

void finish(gpu::Device& device, gpu::StreamHandle stream) {
  const gpu::DeviceEvent done = gpu::event_of(device);
  device.record(done.get(), stream);
  device.synchronize(done.get());
}

/// Gradients in one piece of the device's memory: ones.
class Ones {
 public:
  Ones(gpu::Device& device, const std::vector<std::size_t>& elements)
      : device_(device),
        elements_(elements),
        host_(std::accumulate(elements.begin(), elements.end(), std::size_t{0}), 1.0F),
        memory_(device, host_.size() * sizeof(float)) {
    device.copy(memory_.span(), std::as_bytes(std::span(host_)), nullptr);
    finish(device, nullptr);
  }

  void add_to(GradientExchange& exchange, const std::shared_ptr<gpu::Device>& device) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      const std::size_t bytes = elements_[i] * sizeof(float);
      exchange.add(
          {.name = std::to_string(i), .type = ElementType::float32, .shape = {elements_[i]}},
          memory_.span().subspan(at, bytes), device);
      at += bytes;
    }
  }

  /// Throws unless all gradients are still ones: an average of one rank's numbers leaves them
  /// unchanged.
  void check() {
    device_.copy(std::as_writable_bytes(std::span(host_)), memory_.span(), nullptr);
    finish(device_, nullptr);
    for (std::size_t i = 0; i < host_.size(); ++i)
      if (host_[i] != 1.0F)
        throw Error(ErrorKind::remote, "element " + std::to_string(i) + " of the gradients is " +
                                           std::to_string(host_[i]) + " after a step, not 1");
  }

  std::size_t size() const { return host_.size(); }

 private:
  gpu::Device& device_;
  const std::vector<std::size_t>& elements_;
  std::vector<float> host_;
  gpu::DeviceMemory memory_;
};

double seconds_of_steps(const std::shared_ptr<gpu::Device>& device,
                        const std::vector<std::size_t>& elements,
                        const GradientSettings& settings) {
  Ones ones(*device, elements);
  Connections alone;
  alone.sockets.resize(1);
  Communicator rank(std::move(alone));
  GradientExchange exchange(rank, settings);
  ones.add_to(exchange, device);
  const gpu::DeviceStream stream = gpu::stream_of(*device);
  const double seconds = median_seconds([&] {
    for (std::size_t i = 0; i < elements.size(); ++i)
      exchange.ready({i}, stream.get());
    exchange.wait_step(stream.get());
    finish(*device, stream.get());
  });
  ones.check();
  return seconds;
}

double seconds_of_copies(gpu::Device& device, std::size_t bytes) {
  std::vector<std::byte> host(bytes);
  const gpu::Pinned pinned(device, host);
  const gpu::DeviceMemory memory(device, bytes);
  const gpu::DeviceStream stream = gpu::stream_of(device);
  return median_seconds([&] {
    device.copy(host, memory.span(), stream.get());
    device.copy(memory.span(), host, stream.get());
    finish(device, stream.get());
  });
}

std::size_t bytes_on_wire(const std::vector<std::size_t>& elements,
                          const GradientSettings& settings) {
  const bool is_half = settings.wire == WireType::float16 || settings.wire == WireType::bfloat16;
  const std::size_t all = std::accumulate(elements.begin(), elements.end(), std::size_t{0});
  return all * (is_half ? 2 : sizeof(float));
}

}  // namespace

DeviceStep measure_device_step(const std::shared_ptr<gpu::Device>& device,
                               const std::vector<std::size_t>& elements,
                               const GradientSettings& settings) {
  return {.step = seconds_of_steps(device, elements, settings),
          .copies = seconds_of_copies(*device, bytes_on_wire(elements, settings))};
}

}  // namespace fastgpu::comm::bench
