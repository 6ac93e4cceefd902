// py-rattler, the library that solves and installs conda packages: one version of it, pinned by its
// hash; and our script that drives it on nodes.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/cancel.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

inline constexpr std::string_view kRattlerVersion = "0.28.0";

/// Returns its wheel for `machine`, in `directory`: kept from earlier or fetched. Its SHA-256 is
/// checked each time. Throws as fetch_kept; usage for a processor without one.
std::filesystem::path fetch_rattler(std::string_view machine,
                                    const std::filesystem::path& directory, http::Client& http,
                                    const Cancel& cancel);

/// Returns the script that runs beside it: see conda_client.py.
std::string_view conda_client() noexcept;

}  // namespace fastgpu::envs
