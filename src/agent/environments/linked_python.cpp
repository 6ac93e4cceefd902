#include "agent/environments/linked_python.hpp"

#include <unistd.h>

#include <sstream>

#include "agent/environments/node.hpp"
#include "agent/environments/place.hpp"
#include "agent/files/disk.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHelp =
    ", or let the environment bring one ('python' with an archive in env.yaml)";

/// Returns the version in pyvenv.cfg, such as "3.11.2"; "" if it is missing.
std::string version_made_with(const fs::path& version) {
  constexpr std::string_view kKey = "version_info = ";
  std::istringstream lines(read_file(version / "pyvenv.cfg").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  return "";
}

/// Returns "3.11" for "3.11.2". Packages work with all versions of a series.
std::string series_of(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

/// Returns the version in the interpreter's name, or else runs it.
std::string linked_version(const fs::path& interpreter) {
  constexpr std::string_view kName = "python";
  const std::string name = interpreter.filename();
  const std::string tail = name.starts_with(kName) ? name.substr(kName.size()) : "";
  const bool tells =
      tail.find('.') != tail.npos && tail.find_first_not_of("0123456789.") == tail.npos;
  return tells ? tail : python_version(interpreter);
}

}  // namespace

void check_linked_python(const fs::path& version) {
  const std::string python = link_target(version / "bin/python");
  if (!python.starts_with('/')) return;  // The Python is one of the packages.
  const std::string wanted = version_made_with(version);
  const std::string shown = printable(python, python.size());
  if (::access(python.c_str(), X_OK) != 0)
    throw Error(ErrorKind::not_found, "the environment was made with Python " + wanted + " at " +
                                          shown + ", and this node has none there: install it" +
                                          std::string(kHelp));
  std::error_code failure;
  const std::string found = linked_version(fs::canonical(python, failure));
  if (!wanted.empty() && series_of(found) != series_of(wanted))
    throw Error(ErrorKind::conflict, shown + " is Python " + found +
                                         " on this node, and the environment was made with " +
                                         wanted + ": install that there" + std::string(kHelp));
}

}  // namespace fastgpu::agent
