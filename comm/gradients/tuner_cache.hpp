// The results of tuning, kept for the next job with the same gradients on the same machines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "comm/gpu/device_settings.hpp"
#include "comm/gradients/tuner.hpp"
#include "comm/kernels/reduce.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// The conditions of a result, as far as a job can know them: the network between its nodes is
/// unknown.
struct TunedFor {
  std::uint64_t table = 0;               ///< The hash of the gradients.
  std::span<const ElementType> on_wire;  ///< The type of each of them.
  const Topology& topology;
  int flows = 1;  ///< The maximum of flows.
  gpu::DevicePath device = gpu::DevicePath::automatic;
  std::uint64_t wire = 0;  ///< The number of FASTGPU_COMM_WIRE.
};

/// Returns the name of a file for these conditions alone.
std::filesystem::path cache_file(const std::filesystem::path& folder, const TunedFor& what);

/// Returns true if a job could have it.
bool is_possible(const TunerSetting& setting) noexcept;

/// Returns the stored setting; absent without a valid file: then tuning finds it again.
std::optional<TunerSetting> load_setting(const std::filesystem::path& file);

/// Replaces the file in one step; makes its folder. Throws ErrorKind::local.
void store_setting(const std::filesystem::path& file, const TunerSetting& setting);

}  // namespace fastgpu::comm
