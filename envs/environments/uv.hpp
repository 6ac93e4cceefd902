// uv, the program that solves and installs: one version of it, pinned by its hash.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

/// A wheel of uv in PyPI.
struct UvWheel {
  std::string_view machine;
  std::string_view url;
  std::string_view sha256;
};

inline constexpr std::string_view kUvVersion = "0.13.9";

/// Throws ErrorKind::usage for a processor that has none.
const UvWheel& uv_wheel(std::string_view machine);

/// The program for `machine`, below `directory`: kept from earlier, or fetched and checked. Throws
/// as http::Client, and remote for an answer that is not that file.
std::filesystem::path fetch_uv(std::string_view machine, const std::filesystem::path& directory,
                               http::Client& http, const Cancel& cancel);

}  // namespace fastgpu::envs
