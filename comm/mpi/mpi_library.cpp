#include "comm/mpi/mpi_library.hpp"

#include <array>

#include "base/error.hpp"
#include "comm/common/plugin_file.hpp"

namespace fastgpu::comm::mpi {
namespace {

constexpr Plugin kPlugin{
    .file = "libfastgpu_comm_mpi.so",
    .what = "MPI",
    .variable = "FASTGPU_COMM_MPI_PLUGIN",
    .entry = kPluginEntry,
    .without =
        "ranks meet without MPI where FASTGPU_COMM_MASTER_ADDR and FASTGPU_COMM_MASTER_PORT are "
        "set"};

/// Global symbols: libraries that MPI loads itself may look for MPI's own.
const MpiFunctions* load(const std::string& path) {
  const auto entry = reinterpret_cast<MpiPluginEntry>(load_plugin(kPlugin, path, Symbols::global));
  const MpiFunctions* const functions = entry();
  check_plugin_version(kPlugin, functions->version, kPluginVersion);
  return functions;
}

}  // namespace

MpiPlugin::MpiPlugin(const std::string& path) : functions_(load(path)) {}

void MpiPlugin::check(int error, std::string_view doing) const {
  if (error == 0) return;
  std::array<char, 512> text{};
  functions_->describe(error, text.data(), text.size());
  throw Error(ErrorKind::local, std::string(doing) + ": MPI: " + text.data());
}

}  // namespace fastgpu::comm::mpi
