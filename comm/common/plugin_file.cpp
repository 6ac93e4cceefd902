#include "comm/common/plugin_file.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/join.hpp"

namespace fastgpu::comm {
namespace {

namespace fs = std::filesystem;

/// Returns the file of this code: libfastgpu_comm.so, or a program that it is linked into.
std::string own_file(std::string_view plugin) {
  Dl_info info{};
  const auto* here = reinterpret_cast<const void*>(&plugin_places);
  if (::dladdr(here, &info) == 0 || info.dli_fname == nullptr) return std::string(plugin);
  std::error_code ignored;
  const fs::path absolute = fs::absolute(info.dli_fname, ignored);
  return absolute.string();
}

/// Returns the prefix of the installation that a program's folder belongs to; empty if it has
/// another place than installed programs.
fs::path prefix_of(const fs::path& folder) {
  const std::string text = folder.string();
  for (const char* const programs : {FASTGPU_BINDIR, FASTGPU_LIBEXECDIR "/fastgpu"}) {
    const std::string end = "/" + std::string(programs);
    if (text.ends_with(end)) return fs::path(text.substr(0, text.size() - end.size() + 1));
  }
  return {};
}

std::string found_plugin(const Plugin& plugin) {
  std::string looked;
  for (const std::string& place : plugin_places(own_file(plugin.file), plugin.file)) {
    std::error_code ignored;
    if (fs::exists(place, ignored)) return place;
    append_item(looked, place, " or ");
  }
  throw Error(ErrorKind::not_found,
              "the plugin for " + std::string(plugin.what) + " is not there: no " + looked +
                  "; install it, or name its file by " + std::string(plugin.variable) + "; " +
                  std::string(plugin.without));
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

}  // namespace

std::vector<std::string> plugin_places(const std::string& own, std::string_view file) {
  const fs::path folder = fs::path(own).parent_path();
  std::vector<std::string> places{(folder / file).string(), (folder / "fastgpu" / file).string()};
  const fs::path prefix = prefix_of(folder);
  if (!prefix.empty()) places.push_back((prefix / FASTGPU_LIBDIR / "fastgpu" / file).string());
  return places;
}

void* load_plugin(const Plugin& plugin, const std::string& wanted, Symbols symbols) {
  const std::string what(plugin.what);
  if (is_static_program())
    throw Error(ErrorKind::usage, "this program is linked statically, and cannot load " + what +
                                      "; " + std::string(plugin.without));
  const std::string path = wanted.empty() ? found_plugin(plugin) : wanted;
  const int visible = symbols == Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL;
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NODELETE | visible);
  if (library == nullptr)
    throw Error(ErrorKind::local, "loading the plugin for " + what + ": " + last_loader_error() +
                                      "; is the " + what + " installed that it was built for?");
  void* const entry = ::dlsym(library, std::string(plugin.entry).c_str());
  if (entry == nullptr)
    throw Error(ErrorKind::usage,
                "'" + path + "' is not a plugin for " + what + ": " + last_loader_error());
  return entry;
}

void check_plugin_version(const Plugin& plugin, std::uint32_t version, std::uint32_t needed) {
  if (version == needed) return;
  throw Error(ErrorKind::usage, "the plugin for " + std::string(plugin.what) + " has version " +
                                    std::to_string(version) + ", and this library needs " +
                                    std::to_string(needed) + ": install both of the same release");
}

}  // namespace fastgpu::comm
