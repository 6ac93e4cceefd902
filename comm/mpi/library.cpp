#include "comm/mpi/library.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <array>
#include <filesystem>

#include "base/error.hpp"

namespace fastgpu::comm::mpi {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libfastgpu_comm_mpi.so";

constexpr const char* kWithoutMpi =
    "ranks meet without MPI where FASTGPU_COMM_MASTER_ADDR and FASTGPU_COMM_MASTER_PORT are set";

/// Returns the file of this code: libfastgpu_comm.so, or a program that it is linked into.
std::string own_file() {
  Dl_info info{};
  const auto* here = reinterpret_cast<const void*>(&plugin_places);
  if (::dladdr(here, &info) == 0 || info.dli_fname == nullptr) return kName;
  std::error_code ignored;
  const fs::path absolute = fs::absolute(info.dli_fname, ignored);
  return absolute.string();
}

std::string found_plugin() {
  std::string looked;
  for (const std::string& place : plugin_places(own_file())) {
    std::error_code ignored;
    if (fs::exists(place, ignored)) return place;
    looked += (looked.empty() ? "" : " or ") + place;
  }
  throw Error(ErrorKind::not_found,
              "the plugin for MPI is not there: no " + looked +
                  "; install it, or name its file by FASTGPU_COMM_MPI_PLUGIN; " + kWithoutMpi);
}

/// Returns true for a static program. It has no loader, and what it loads would bring another C
/// library.
bool is_static_program() {
  return ::getauxval(AT_BASE) == 0;
}

std::string last_loader_error() {
  const char* const error = ::dlerror();
  return error == nullptr ? "unknown error" : error;
}

const Functions* load(const std::string& wanted) {
  if (is_static_program())
    throw Error(
        ErrorKind::usage,
        std::string("this program is linked statically, and cannot load MPI; ") + kWithoutMpi);
  const std::string path = wanted.empty() ? found_plugin() : wanted;
  // Global: libraries that MPI loads itself may look for MPI's own symbols.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr)
    throw Error(ErrorKind::local, "loading the plugin for MPI: " + last_loader_error() +
                                      "; is the MPI installed that it was built for?");
  const auto entry = reinterpret_cast<PluginEntry>(::dlsym(library, kPluginEntry));
  if (entry == nullptr)
    throw Error(ErrorKind::usage, "'" + path + "' is no plugin for MPI: " + last_loader_error());
  const Functions* const functions = entry();
  if (functions->version != kPluginVersion)
    throw Error(ErrorKind::usage, "'" + path + "' has version " +
                                      std::to_string(functions->version) +
                                      ", and this library needs " + std::to_string(kPluginVersion) +
                                      ": install both of the same release");
  return functions;
}

}  // namespace

std::vector<std::string> plugin_places(const std::string& own) {
  const fs::path folder = fs::path(own).parent_path();
  return {(folder / kName).string(), (folder / "fastgpu" / kName).string()};
}

Library::Library(const std::string& path) : functions_(load(path)) {}

void Library::check(int error, std::string_view doing) const {
  if (error == 0) return;
  std::array<char, 512> text{};
  functions_->describe(error, text.data(), text.size());
  throw Error(ErrorKind::local, std::string(doing) + ": MPI: " + text.data());
}

}  // namespace fastgpu::comm::mpi
