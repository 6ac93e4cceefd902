#include "comm/fabric/fabric_library.hpp"

#include <array>

#include "base/error.hpp"
#include "comm/common/plugin_file.hpp"

namespace fastgpu::comm::fabric {
namespace {

constexpr Plugin kPlugin{.file = "libfastgpu_comm_fabric.so",
                         .what = "libfabric",
                         .variable = "FASTGPU_COMM_FABRIC_PLUGIN",
                         .entry = kPluginEntry,
                         .without = "FASTGPU_COMM_TRANSPORT=tcp does without it"};

constexpr std::uint32_t kOldestLibrary = 117;

const FabricFunctions* load(const std::string& path) {
  const auto entry =
      reinterpret_cast<FabricPluginEntry>(load_plugin(kPlugin, path, Symbols::local));
  const FabricFunctions* const functions = entry();
  check_plugin_version(kPlugin, functions->version, kPluginVersion);
  const std::uint32_t found = functions->library_version();
  if (found < kOldestLibrary)
    throw Error(ErrorKind::usage,
                "libfabric " + std::to_string(found / 100) + "." + std::to_string(found % 100) +
                    " is too old: install 1.17 or newer, or set FASTGPU_COMM_TRANSPORT=tcp");
  return functions;
}

}  // namespace

FabricLibrary::FabricLibrary(const std::string& path) : functions_(load(path)) {}

std::string FabricLibrary::describe(int error) const {
  std::array<char, 256> text{};
  functions_->describe(error, text.data(), text.size());
  return text.data();
}

void FabricLibrary::check(int error, std::string_view doing) const {
  if (error == 0) return;
  throw Error(ErrorKind::local, std::string(doing) + ": libfabric: " + describe(error));
}

}  // namespace fastgpu::comm::fabric
