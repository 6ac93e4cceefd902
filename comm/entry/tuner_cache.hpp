// What tuning has found, kept for the next job with the same gradients on the same machines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "comm/entry/tuner.hpp"
#include "comm/gpu/settings.hpp"
#include "comm/reduce.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// What a result holds for, as far as a job can know: not which network is between its nodes.
struct TunedFor {
  std::uint64_t table = 0;               ///< Hash of the gradients.
  std::span<const ElementType> on_wire;  ///< Of each of them.
  const Topology& topology;
  int flows = 1;  ///< At most.
  gpu::DeviceWay device = gpu::DeviceWay::automatic;
};

/// One file for each of these.
std::filesystem::path cache_file(const std::filesystem::path& folder, const TunedFor& what);

/// Whether some job could have it.
bool is_possible(const Setting& setting) noexcept;

/// Absent where there is no such file, or none that makes sense: then tuning finds it again.
std::optional<Setting> load_setting(const std::filesystem::path& file);

/// Replaces the file in one step; makes its folder. Throws ErrorKind::local.
void store_setting(const std::filesystem::path& file, const Setting& setting);

}  // namespace fastgpu::comm
