// A Python that came to this node as an archive, beside which it is unpacked once.
#pragma once

#include <filesystem>

#include "agent/environments/call.hpp"

namespace fastgpu::agent {

/// Where what the archive has in its folder "python" lies: there at once, however many ask for it
/// at the same time, and whoever was killed before. Throws remote for an archive without
/// python/bin/python3; as output_of.
std::filesystem::path unpacked_python(const std::filesystem::path& archive, Listener& listener);

/// The interpreter in it, or in a copy of it.
std::filesystem::path interpreter_in(const std::filesystem::path& python);

}  // namespace fastgpu::agent
