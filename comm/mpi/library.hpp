// Finds and loads libfastgpu_comm_mpi.so when a job first needs MPI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/mpi/plugin.hpp"

namespace fastgpu::comm::mpi {

/// Where the plugin may lie, for code that is in the file `own`: beside it, or in the folder
/// fastgpu beside it.
std::vector<std::string> plugin_places(const std::string& own);

/// Stays loaded until the process ends: MPI does not like to be unloaded.
class Library {
 public:
  /// Loads `path`, or where it is empty the first of `plugin_places` that there is. Throws
  /// ErrorKind::not_found where there is none, ErrorKind::local where it does not load,
  /// ErrorKind::usage where it is of another version, or this program cannot load anything.
  explicit Library(const std::string& path);

  const Functions* operator->() const noexcept { return functions_; }

  /// Throws ErrorKind::local, with MPI's words, for anything but 0.
  void check(int error, std::string_view doing) const;

 private:
  const Functions* functions_;
};

}  // namespace fastgpu::comm::mpi
