// What tuning has found, kept for the next job with the same gradients on the same machines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "comm/entry/tuner.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// One file for each table of gradients and each shape of a job.
std::filesystem::path cache_file(const std::filesystem::path& folder, std::uint64_t table_hash,
                                 const Topology& topology);

/// Whether some job could have it.
bool is_possible(const Setting& setting) noexcept;

/// Absent where there is no such file, or none that makes sense: then tuning finds it again.
std::optional<Setting> load_setting(const std::filesystem::path& file);

/// Replaces the file in one step; makes its folder. Throws ErrorKind::local.
void store_setting(const std::filesystem::path& file, const Setting& setting);

}  // namespace fastgpu::comm
