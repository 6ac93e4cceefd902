// uv, the program that solves and installs wheels: one version of it, pinned by its hash.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/cancel.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

inline constexpr std::string_view kUvVersion = "0.13.9";

/// Returns the program for `machine`, in `scratch`, from its wheel, which is kept in `directory`.
/// The wheel's SHA-256 is checked each time. Throws as fetch_kept; usage for a processor without
/// one.
std::filesystem::path fetch_uv(std::string_view machine, const std::filesystem::path& directory,
                               const std::filesystem::path& scratch, http::Client& http,
                               const Cancel& cancel);

}  // namespace fastgpu::envs
