// Wheels of PyPI that fastgpu itself uses, known by their hash.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

struct PinnedWheel {
  std::string_view machine;  ///< "x86_64"
  std::string_view url;
  std::string_view sha256;
};

/// Throws ErrorKind::usage, naming the processor, where none is for it.
const PinnedWheel& wheel_for(std::string_view machine, std::span<const PinnedWheel> wheels,
                             std::string_view what);

/// The wheel's bytes. Throws as http::Client, and remote for another answer than that file; `hint`
/// says what to do then.
std::string fetch_wheel(const PinnedWheel& wheel, std::string_view hint, http::Client& http,
                        const Cancel& cancel);

}  // namespace fastgpu::envs
