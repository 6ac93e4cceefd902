// Random tensors in host memory and the same ones in the device's.
#pragma once

#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "comm/gpu/kernels.hpp"
#include "support/kernel_levels.hpp"

namespace fastgpu::test {

/// How many elements each tensor has.
using Counts = std::vector<std::size_t>;

/// Lengths around the ends of vectors and tiles, and one that keeps many warps busy.
inline Counts random_counts(std::mt19937_64& random) {
  constexpr std::size_t kInteresting[] = {0, 1, 2, 3, 5, 127, 2047, 2048, 2049};
  Counts counts{100'000 + random() % 100'000};
  for (std::size_t i = random() % 60; i > 0; --i)
    counts.push_back(random() % 2 == 0 ? kInteresting[random() % 9] : random() % 7000);
  return counts;
}

inline std::size_t sum_of(const Counts& counts) {
  std::size_t sum = 0;
  for (const std::size_t count : counts)
    sum += count;
  return sum;
}

/// Copies between the host and the device, and waits for the end.
inline void copy_now(std::span<std::byte> to, std::span<const std::byte> from) {
  comm::gpu::copy_async(to, from, nullptr);
  comm::gpu::Event done;
  done.record(nullptr);
  done.synchronize();
}

inline std::vector<std::byte> downloaded(std::span<const std::byte> device) {
  std::vector<std::byte> values(device.size());
  copy_now(values, device);
  return values;
}

/// Every tensor begins one to three elements after the one before has ended, so that all offsets
/// are met.
class DeviceTensors {
 public:
  DeviceTensors(const Counts& counts, comm::ElementType type, std::uint32_t seed)
      : host_((sum_of(counts) + 3 * counts.size() + 1) * comm::size_of(type)),
        device_(host_.size()) {
    fill_with_random_bits(host_, type, seed);
    std::size_t at = 0;
    for (const std::size_t count : counts) {
      at += (1 + count % 3) * comm::size_of(type);
      places_.push_back({at, count});
      at += count * comm::size_of(type);
    }
    upload();
  }

  void upload() { copy_now(device_.span(), host_); }

  /// What the device holds now, gaps included.
  std::vector<std::byte> download() const { return downloaded(device_.span()); }

  const std::vector<std::byte>& host() const { return host_; }

  std::vector<comm::Tensor> on_host() { return tensors(host_.data()); }
  std::vector<comm::Tensor> on_device() const { return tensors(device_.span().data()); }
  std::vector<comm::ConstTensor> read_only() const {
    std::vector<comm::ConstTensor> all;
    for (const DevicePlace& place : places_)
      all.push_back({host_.data() + place.offset, place.count});
    return all;
  }

 private:
  struct DevicePlace {
    std::size_t offset;  ///< Bytes.
    std::size_t count;   ///< Elements.
  };

  std::vector<comm::Tensor> tensors(std::byte* memory) const {
    std::vector<comm::Tensor> all;
    for (const DevicePlace& place : places_)
      all.push_back({memory + place.offset, place.count});
    return all;
  }

  std::vector<std::byte> host_;
  comm::gpu::DeviceBuffer device_;
  std::vector<DevicePlace> places_;
};

/// Bytes on the host and on the device, which begin `offset` bytes after an aligned place there.
class DeviceBytes {
 public:
  DeviceBytes(std::size_t bytes, comm::ElementType type, std::size_t offset, std::uint32_t seed)
      : host_(bytes), device_(bytes + offset), offset_(offset) {
    fill_with_random_bits(host_, type, seed);
    copy_now(span(), host_);
  }

  std::span<std::byte> span() const { return device_.span().subspan(offset_); }
  std::span<std::byte> host() { return host_; }
  std::vector<std::byte> host_values() const { return host_; }

  std::vector<std::byte> download() const { return downloaded(span()); }

 private:
  std::vector<std::byte> host_;
  comm::gpu::DeviceBuffer device_;
  std::size_t offset_;
};

}  // namespace fastgpu::test
