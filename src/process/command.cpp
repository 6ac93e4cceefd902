#include "process/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::process {
namespace {

bool assigns(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

}  // namespace

std::vector<std::string> current_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    all.emplace_back(*entry);
  return all;
}

void set_variable(std::vector<std::string>& environment, const std::string& assignment) {
  const std::string name = assignment.substr(0, assignment.find('='));
  std::erase_if(environment, [&](const std::string& entry) { return assigns(entry, name); });
  environment.push_back(assignment);
}

std::optional<std::string> variable(const std::vector<std::string>& environment,
                                    std::string_view name) {
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& entry) { return assigns(entry, name); });
  if (found == environment.end()) return std::nullopt;
  return found->substr(name.size() + 1);
}

std::filesystem::path find_program(const std::string& name, std::string_view path) {
  if (name.find('/') != std::string::npos) return name;
  bool seen = false;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = path.find(':', begin);
    const std::string_view directory = path.substr(begin, end - begin);
    // Relative directories are skipped, so that no program in the current directory is run.
    if (!directory.starts_with('/')) continue;
    const auto file = std::filesystem::path(directory) / name;
    std::error_code ignored;
    if (name.empty() || !std::filesystem::is_regular_file(file, ignored)) continue;
    if (::access(file.c_str(), X_OK) == 0) return file;
    seen = true;
  }
  if (seen) throw Error(ErrorKind::denied, printable(name) + ": Permission denied");
  throw Error(ErrorKind::not_found, printable(name) + ": No such file or directory");
}

}  // namespace fastgpu::process
