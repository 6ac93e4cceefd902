// Every collective on a device's memory beside the same one on the host's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/gpu/device_collectives.hpp"
#include "gpu/device_values.hpp"

namespace fastgpu::test {

/// 1, 2, 3 ... plus the rank: whole numbers, whose sums are exact.
inline std::vector<float> numbers(std::size_t count, comm::Rank rank) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i % 1000 + static_cast<std::size_t>(rank.value));
  return values;
}

/// A collective call: all_reduce alone, of `count` numbers.
inline bool sums_as_the_host(comm::Communicator& comm, comm::gpu::DeviceCollectives& collectives,
                             comm::gpu::Device& device, std::size_t count) {
  std::vector<float> values = numbers(count, comm.rank());
  const DeviceValues<float> on_device(device, values);
  collectives
      .all_reduce(on_device.bytes(), {comm::ElementType::float32, comm::ReduceOp::sum}, nullptr)
      ->wait();
  comm.all_reduce(std::span(values), comm::ReduceOp::sum);
  return on_device.read() == values;
}

/// A collective call: the others, of `count` numbers a rank.
inline bool moves_as_the_host(comm::Communicator& comm, comm::gpu::DeviceCollectives& collectives,
                              comm::gpu::Device& device, std::size_t count) {
  constexpr comm::Reduction kSum{comm::ElementType::float32, comm::ReduceOp::sum};
  const std::size_t all = count * static_cast<std::size_t>(comm.size());
  const auto in = [](const std::vector<float>& values) { return std::as_bytes(std::span(values)); };
  const auto out = [](std::vector<float>& values) {
    return std::as_writable_bytes(std::span(values));
  };
  std::vector<float> part(count);
  std::vector<float> whole = numbers(all, comm.rank());
  std::vector<float> other(all);
  const DeviceValues<float> device_part(device, part);
  const DeviceValues<float> device_whole(device, whole);
  const DeviceValues<float> device_other(device, other);

  bool is_same = true;
  collectives.reduce_scatter(device_whole.bytes(), device_part.bytes(), kSum, nullptr)->wait();
  comm.reduce_scatter(in(whole), out(part), kSum);
  is_same &= device_part.read() == part;
  collectives.all_gather(device_part.bytes(), device_whole.bytes(), nullptr)->wait();
  comm.all_gather(in(part), out(whole));
  is_same &= device_whole.read() == whole;
  collectives.all_to_all(device_whole.bytes(), device_other.bytes(), nullptr)->wait();
  comm.all_to_all(in(whole), out(other));
  is_same &= device_other.read() == other;
  collectives.broadcast(device_other.bytes(), {comm.size() - 1}, nullptr)->wait();
  comm.broadcast(out(other), {comm.size() - 1});
  return is_same && device_other.read() == other;
}

}  // namespace fastgpu::test
