// Finds and loads a plugin of this library when a job first needs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::comm {

/// A plugin, as errors name it.
struct Plugin {
  std::string_view file;      ///< "libfastgpu_comm_mpi.so".
  std::string_view what;      ///< The library behind it: "MPI".
  std::string_view variable;  ///< The variable that names its file.
  std::string_view entry;     ///< The name of its one symbol.
  std::string_view without;   ///< How a job does without it.
};

/// Whether the symbols of a plugin and its libraries are visible to others that are loaded later.
enum class Symbols : std::uint8_t { local, global };

/// Returns the possible places of a plugin for code in the file `own`: beside it, or in the folder
/// fastgpu beside it, and for a program of an installation in that of the installation's libraries.
std::vector<std::string> plugin_places(const std::string& own, std::string_view file);

/// Loads `path`, or if it is empty the first existing one of `plugin_places`, and returns its
/// entry. It stays loaded until the process ends. Throws ErrorKind::not_found if none exists,
/// ErrorKind::local if it does not load, ErrorKind::usage if it is another file or this program
/// cannot load anything.
void* load_plugin(const Plugin& plugin, const std::string& path, Symbols symbols);

/// Throws ErrorKind::usage unless the plugin has the version that this library needs.
void check_plugin_version(const Plugin& plugin, std::uint32_t version, std::uint32_t needed);

}  // namespace fastgpu::comm
