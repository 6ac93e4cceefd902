#include "envs/environments/activate.hpp"

#include <array>
#include <utility>

#include "agent/protocol/environment.hpp"
#include "base/quote.hpp"
#include "envs/matrix/name.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kLibraries = "LD_LIBRARY_PATH";
constexpr std::string_view kToolkit = "ASCEND_TOOLKIT_HOME";

/// Returns lines that put one or several directories in front of a list of them.
std::string in_front(const std::string& variable, const std::string& directories) {
  const std::string word = shell_quote(directories);
  return "case \":${" + variable + ":-}:\" in *:" + word + ":*) ;; *) " + variable + "=" + word +
         "${" + variable + ":+\":$" + variable + "\"}; export " + variable + " ;; esac\n";
}

/// Returns the lines for conda. Packages may have scripts of their own, which are not made to be
/// sourced twice.
std::string conda_lines(const std::filesystem::path& version) {
  const std::string word = shell_quote(version.string());
  return "if [ \"${CONDA_PREFIX:-}\" != " + word + " ]; then\n  CONDA_PREFIX=" + word +
         "; export CONDA_PREFIX\n  for fastgpu_script in " + word +
         "/etc/conda/activate.d/*.sh; do\n    if [ -r \"$fastgpu_script\" ]; then . "
         "\"$fastgpu_script\"; fi\n  done\n  unset fastgpu_script\nfi\n";
}

/// Returns the possible paths of CANN's own script, best first. These are the user's setting, the
/// path of exactly that version, the target of variables that are already set, and the usual
/// places.
std::string cann_scripts(const EnvironmentSpec& spec, const std::string& version) {
  std::string words;
  const auto add = [&](const std::string& place) { words += " " + place + "/set_env.sh"; };
  const std::array places = {std::string("/usr/local/Ascend/"),
                             std::string("\"${HOME:-/root}\"/Ascend/")};
  for (const auto& [name, value] : spec.variables) {
    if (name != kToolkit) continue;
    add(shell_quote(value));
    add(shell_quote(value + "/.."));
  }
  for (const std::string& place : places)
    add(place + "cann-" + version);
  add("\"${ASCEND_TOOLKIT_HOME:-/none}\"");
  add("\"${ASCEND_TOOLKIT_HOME:-/none}\"/..");
  std::array<std::string, 2> names = {"cann", "ascend-toolkit"};  // The latter before 8.5.
  if (compare_versions(version, "8.5") < 0) std::swap(names[0], names[1]);
  for (const std::string& place : places)
    for (const std::string& name : names)
      add(place + name);
  return words;
}

/// Prints the exports of a bash script, for any shell.
constexpr std::string_view kExports =
#include "templates/nodes/print_exports.inc"
    ;

/// Returns the lines for the exports of CANN's script, once. A bash beside this shell runs it. The
/// script is not made for other shells, nor for those in which a failure or an unset variable is
/// the end.
std::string cann_lines(const EnvironmentSpec& spec, const std::string& version) {
  return "if [ \"${FASTGPU_CANN:-}\" != " + version +
         " ]; then\n"
         "  for fastgpu_script in" +
         cann_scripts(spec, version) +
         "; do\n"
         "    if [ ! -r \"$fastgpu_script\" ]; then continue; fi\n"
         "    eval \"$(bash -c '" +
         std::string(kExports) +
         "' fastgpu \"$fastgpu_script\" 2>/dev/null || :)\"\n"
         "    FASTGPU_CANN=" +
         version +
         "; export FASTGPU_CANN\n"
         "    break\n"
         "  done\n"
         "  unset fastgpu_script\n"
         "fi\n";
}

}  // namespace

std::string activate_script(const EnvironmentSpec& spec, const std::filesystem::path& version) {
  std::string out = "# Environment " + spec.name + " of fastgpu.\n";
  const auto set = [&](const std::string& name, const std::string& value) {
    out += name + "=" + shell_quote(value) + "; export " + name + "\n";
  };
  set("FASTGPU_ENV", spec.name);
  const auto accelerator =
      spec.from.empty() ? Accelerator{} : parse_environment_name(spec.from).accelerator;
  if (accelerator.platform == Platform::cann)  // Comes first: our directories go in front of it.
    out += cann_lines(spec, accelerator.version);
  out += in_front("PATH", (version / "bin").string());
  for (const auto& [name, value] : spec.variables)  // Behind ours: the library must be found.
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
