#include "agent/environments/modules.hpp"

#include <map>
#include <set>

#include "agent/environments/node.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// Compiles files. The arguments are the packages' directory and the name of that directory in
/// bytecode. The input lists the files.
constexpr const char* kCompile =
#include "templates/nodes/compile_modules.inc"
    ;

/// Returns the bytecode files of the modules, which are given by directory.
std::vector<std::string> bytecode_of(const fs::path& version,
                                     const std::map<fs::path, std::set<std::string>>& modules) {
  std::vector<std::string> made;
  for (const auto& [directory, names] : modules) {
    const fs::path cache = directory / "__pycache__";
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(version / cache, none)) {
      const std::string name = entry.path().filename().string();
      if (names.contains(name.substr(0, name.find('.')))) made.push_back((cache / name).string());
    }
  }
  return made;
}

}  // namespace

fs::path packages_of(const std::string& python_version) {
  const std::string series = python_version.substr(0, python_version.rfind('.'));
  return fs::path("lib") / ("python" + series) / "site-packages";
}

std::vector<std::string> compile_modules(const fs::path& version, const std::string& python_version,
                                         const std::vector<std::string>& files,
                                         const Listener& listener) try {
  const fs::path python = version / "bin/python";
  const fs::path packages = packages_of(python_version);
  const std::string start = packages.string() + "/";
  std::string input;
  std::map<fs::path, std::set<std::string>> modules;
  for (const std::string& file : files) {
    const fs::path path = file;
    if (!file.starts_with(start) || path.extension() != ".py") continue;
    (input += file.substr(start.size())) += '\0';
    modules[path.parent_path()].insert(path.stem().string());
  }
  if (modules.empty() || !fs::exists(python)) return {};
  listener.gone().check();
  output_of({.argv = {python.string(), "-I", "-c", kCompile, (version / packages).string(),
                      (version.parent_path() / "current" / packages).string()},
             .environment = plain_environment(),
             .input = input},
            listener);
  return bytecode_of(version, modules);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  return {};
}

}  // namespace fastgpu::agent
