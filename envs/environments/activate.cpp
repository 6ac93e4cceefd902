#include "envs/environments/activate.hpp"

#include "agent/protocol/environment.hpp"
#include "base/quote.hpp"

namespace fastgpu::envs {
namespace {

/// Puts a directory in front of a list of them.
std::string in_front(const std::string& variable, const std::filesystem::path& directory) {
  const std::string word = shell_quote(directory.string());
  return "case \":${" + variable + ":-}:\" in *:" + word + ":*) ;; *) " + variable + "=" + word +
         "${" + variable + ":+\":$" + variable + "\"}; export " + variable + " ;; esac\n";
}

}  // namespace

std::string activate_script(const EnvironmentSpec& spec, const std::filesystem::path& version) {
  std::string out = "# Environment " + spec.name + " of fastgpu.\n";
  const auto set = [&](const std::string& name, const std::string& value) {
    out += name + "=" + shell_quote(value) + "; export " + name + "\n";
  };
  set("FASTGPU_ENV", spec.name);
  set("VIRTUAL_ENV", version.string());
  out += in_front("PATH", version / "bin");
  out += in_front("LD_LIBRARY_PATH", version / "lib" / "fastgpu");
  for (const auto& [name, value] : spec.variables)
    set(name, value);
  return out;
}

std::string run_script(const std::filesystem::path& version) {
  return "#!/bin/sh\n. " + shell_quote((agent::details_of(version) / "activate.sh").string()) +
         "\nexec \"$@\"\n";
}

}  // namespace fastgpu::envs
