#include "agent/environments/modules.hpp"

#include "agent/environments/node.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {

void compile_modules(const std::filesystem::path& version, const std::string& python_version,
                     const Listener& listener) try {
  const auto python = version / "bin/python";
  if (!std::filesystem::exists(python)) return;
  listener.gone().check();
  const std::string series = python_version.substr(0, python_version.rfind('.'));
  const auto place = std::filesystem::path("lib") / ("python" + series) / "site-packages";
  const auto packages = version / place;
  const auto named = version.parent_path() / "current" / place;
  output_of({.argv = {python.string(), "-I", "-m", "compileall", "-q", "-j", "0", "-d",
                      named.string(), "-x", "site-packages/.*/tests?/", packages.string()},
             .environment = plain_environment()},
            listener);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
}

}  // namespace fastgpu::agent
