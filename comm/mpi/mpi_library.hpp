// Finds and loads libfastgpu_comm_mpi.so when a job first needs MPI.
#pragma once

#include <string>
#include <string_view>

#include "comm/mpi/plugin.hpp"

namespace fastgpu::comm::mpi {

/// The loaded plugin. It stays loaded until the process ends: MPI does not support unloading.
class MpiPlugin {
 public:
  /// Loads `path`, or if it is empty the first existing one of its places. Throws
  /// ErrorKind::not_found if none exists, ErrorKind::local if it does not load, ErrorKind::usage if
  /// it has another version, or this program cannot load anything.
  explicit MpiPlugin(const std::string& path);

  const MpiFunctions* operator->() const noexcept { return functions_; }

  /// Throws ErrorKind::local, with MPI's description, for anything but 0.
  void check(int error, std::string_view doing) const;

 private:
  const MpiFunctions* functions_;
};

}  // namespace fastgpu::comm::mpi
