#include "envs/environments/activate.hpp"

#include "agent/protocol/environment.hpp"
#include "base/quote.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kLibraries = "LD_LIBRARY_PATH";

/// Puts a directory, or some, in front of a list of them.
std::string in_front(const std::string& variable, const std::string& directories) {
  const std::string word = shell_quote(directories);
  return "case \":${" + variable + ":-}:\" in *:" + word + ":*) ;; *) " + variable + "=" + word +
         "${" + variable + ":+\":$" + variable + "\"}; export " + variable + " ;; esac\n";
}

/// Packages may have scripts of their own, which are not made to be sourced twice.
std::string conda_lines(const std::filesystem::path& version) {
  const std::string word = shell_quote(version.string());
  return "if [ \"${CONDA_PREFIX:-}\" != " + word + " ]; then\n  CONDA_PREFIX=" + word +
         "; export CONDA_PREFIX\n  for fastgpu_script in " + word +
         "/etc/conda/activate.d/*.sh; do\n    if [ -r \"$fastgpu_script\" ]; then . "
         "\"$fastgpu_script\"; fi\n  done\n  unset fastgpu_script\nfi\n";
}

}  // namespace

std::string activate_script(const EnvironmentSpec& spec, const std::filesystem::path& version) {
  std::string out = "# Environment " + spec.name + " of fastgpu.\n";
  const auto set = [&](const std::string& name, const std::string& value) {
    out += name + "=" + shell_quote(value) + "; export " + name + "\n";
  };
  set("FASTGPU_ENV", spec.name);
  out += in_front("PATH", (version / "bin").string());
  for (const auto& [name, value] : spec.variables)  // Behind ours: the library has to be found.
    if (name == kLibraries && !value.empty()) out += in_front(name, value);
  out += in_front(std::string(kLibraries), (version / "lib" / "fastgpu").string());
  switch (spec.builder) {
    case Builder::uv:
      set("VIRTUAL_ENV", version.string());
      break;
    case Builder::conda:
      out += conda_lines(version);
      break;
  }
  for (const auto& [name, value] : spec.variables)
    if (name != kLibraries) set(name, value);
  return out;
}

std::string run_script(const std::filesystem::path& version) {
  return "#!/bin/sh\n. " + shell_quote((agent::details_of(version) / "activate.sh").string()) +
         "\nexec \"$@\"\n";
}

}  // namespace fastgpu::envs
