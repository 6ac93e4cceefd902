// A plugin of another version of the library, or (with OLD_LIBRARY) for a libfabric that is too
// old.
#include "comm/fabric/plugin.hpp"

namespace {

using fastgpu::comm::fabric::FabricFunctions;

#ifdef OLD_LIBRARY
constexpr FabricFunctions kFunctions{.library_version = [] { return std::uint32_t{114}; }};
#else
constexpr FabricFunctions kFunctions{.version = 99};
#endif

}  // namespace

extern "C" __attribute__((visibility("default"))) const FabricFunctions*
fastgpu_comm_fabric_plugin() {
  return &kFunctions;
}
