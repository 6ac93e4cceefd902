// Finds and loads libfastgpu_comm_fabric.so when a job first needs it.
#pragma once

#include <string>
#include <string_view>

#include "comm/fabric/plugin.hpp"

namespace fastgpu::comm::fabric {

/// The loaded plugin. It stays loaded until the process ends.
class FabricLibrary {
 public:
  /// Loads `path`, or if it is empty the plugin in the usual place. Throws as load_plugin() does,
  /// and ErrorKind::usage for another version of the plugin or a libfabric older than 1.17.
  explicit FabricLibrary(const std::string& path);

  const FabricFunctions* operator->() const noexcept { return functions_; }

  /// Returns libfabric's description of an error.
  std::string describe(int error) const;

  /// Throws ErrorKind::local, with libfabric's description, for anything but 0.
  void check(int error, std::string_view doing) const;

 private:
  const FabricFunctions* functions_;
};

}  // namespace fastgpu::comm::fabric
