#include "agent/environments/build_tools.hpp"

#include <unistd.h>

#include <utility>

#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// Versions before 81: setuptools 81 warns of pkg_resources, which many setup.py files import, and
/// later versions lack it.
constexpr const char* kTools = "setuptools<81\nwheel\n";

}  // namespace

std::string solve_build_tools(const Uv& uv, const std::string& python,
                              const Listener& listener) try {
  fs::create_directories(uv.cache());
  const TextFile wanted(uv.cache() / ("tools." + std::to_string(::getpid()) + ".in"), kTools);
  return uv.run({"pip", "compile", "--quiet", "--no-header", "--no-build", "--format",
                 "pylock.toml", "--python", python, wanted.path()},
                listener);
} catch (const Error& e) {
  throw e.during("solving setuptools and wheel, by which packages are built from source");
}

BuildTools::BuildTools(const Uv& uv, const std::string& python, const std::string& pylock,
                       fs::path directory, const Listener& listener)
    : directory_(std::move(directory)) {
  fs::remove_all(directory_);  // A leftover of a killed call.
  uv.run({"venv", "--quiet", "--no-project", "--python", python, directory_.string()}, listener);
  install_wheels(uv, pylock, this->python(), listener);
}

BuildTools::~BuildTools() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

}  // namespace fastgpu::agent
