// Reads the initial state of a world.
#pragma once

#include <filesystem>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

/// Adds the vendors of a scenario file to the world, and its "settings" to the world's settings.
/// Throws ErrorKind::usage with the file's name.
void load_scenario(SimulatedWorld& world, const std::filesystem::path& file);

}  // namespace fastgpu::cloudsim
