// Gradients on a device beside the same ones on the host.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "gpu/device_values.hpp"

namespace fastgpu::test {

inline std::vector<float> random_floats(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

/// Steps of random gradients with `counts` elements, every third of which stays on the host: the
/// same bits as where all lie there. All ranks call it.
inline bool gradients_as_the_host(comm::Communicator& comm,
                                  const std::shared_ptr<comm::gpu::Device>& device,
                                  std::span<const std::size_t> counts,
                                  const comm::GradientSettings& settings) {
  std::mt19937 random(static_cast<unsigned>(comm.rank().value));
  std::vector<std::vector<float>> all_on_host;
  std::vector<std::unique_ptr<DeviceValues<float>>> on_device;
  for (const std::size_t count : counts) {
    all_on_host.push_back(random_floats(count, random));
    on_device.push_back(std::make_unique<DeviceValues<float>>(*device, all_on_host.back()));
  }
  std::vector<std::vector<float>> some_on_host = all_on_host;
  comm::GradientExchange host(comm, settings);
  comm::GradientExchange exchange(comm, settings);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string name = std::to_string(i);
    host.add(name, std::span(all_on_host[i]));
    if (i % 3 == 2)
      exchange.add(name, std::span(some_on_host[i]));
    else
      exchange.add({.name = name, .type = comm::ElementType::float32, .shape = {counts[i]}},
                   on_device[i]->bytes(), device);
  }
  bool is_same = true;
  for (int step = 0; step < 3; ++step) {
    host.all_reduce_gradients(comm::ReduceOp::average);
    exchange.all_reduce_gradients(comm::ReduceOp::average);
    for (std::size_t i = 0; i < counts.size(); ++i)
      is_same &= (i % 3 == 2 ? some_on_host[i] : on_device[i]->read()) == all_on_host[i];
  }
  return is_same;
}

}  // namespace fastgpu::test
