// Reads what a world begins with.
#pragma once

#include <filesystem>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

/// Adds a scenario file's vendors to the world and its "settings" to the world's. Throws
/// ErrorKind::usage with the file's name.
void load_scenario(World& world, const std::filesystem::path& file);

}  // namespace fastgpu::cloudsim
