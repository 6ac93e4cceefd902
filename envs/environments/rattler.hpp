// py-rattler, the library that solves and installs conda packages: one version of it, pinned by its
// hash; and the script of ours that drives it on nodes.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/cancel.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

inline constexpr std::string_view kRattlerVersion = "0.28.0";

/// Its wheel for `machine`, in `directory`: kept from earlier or fetched, its sum compared each
/// time. Throws as fetch_kept; usage for a processor that has none.
std::filesystem::path fetch_rattler(std::string_view machine,
                                    const std::filesystem::path& directory, http::Client& http,
                                    const Cancel& cancel);

/// What runs beside it: see conda_client.py.
std::string_view conda_client() noexcept;

}  // namespace fastgpu::envs
