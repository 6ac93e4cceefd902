#include "agent/jobs/search_paths.hpp"

#include <array>
#include <optional>
#include <utility>

#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/split.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

constexpr const char* kPath = "PATH";
constexpr const char* kLibraries = "LD_LIBRARY_PATH";

/// The directories in which the loader of programs looks in any case.
constexpr std::array<std::string_view, 4> kUsualLibraries = {"/lib", "/usr/lib", "/lib64",
                                                             "/usr/lib64"};

void drop(std::vector<std::string>& environment, const char* name) {
  const std::string before = std::string(name) + "=";
  std::erase_if(environment,
                [&](const std::string& assignment) { return assignment.starts_with(before); });
}

void restore(std::vector<std::string>& environment, const char* name, const char* login_name,
             std::span<const std::string_view> usual) {
  const auto login = process::variable(environment, login_name);
  const auto now = process::variable(environment, name);
  drop(environment, login_name);
  if (!login || !now) return;
  const std::string path = search_path(*now, *login, usual);
  if (path.empty())
    drop(environment, name);
  else
    process::set_variable(environment, std::string(name) + "=" + path);
}

}  // namespace

std::string search_path(std::string_view now, std::string_view login,
                        std::span<const std::string_view> usual) {
  if (!now.ends_with(login)) return std::string(now);
  const std::vector<std::string_view> known = split(login, ':');
  std::vector<std::string> path;
  for (const std::string_view directory : split(now.substr(0, now.size() - login.size()), ':')) {
    const bool is_needed = !directory.empty() && !contains(known, directory) &&
                           !contains(usual, directory) && !contains(path, std::string(directory));
    if (is_needed) path.emplace_back(directory);
  }
  if (!login.empty()) path.emplace_back(login);
  return joined(path, ":");
}

void keep_login_paths(std::vector<std::string>& environment) {
  for (const auto& [name, login_name] :
       {std::pair(kPath, kLoginPath), std::pair(kLibraries, kLoginLibraries)})
    process::set_variable(environment, std::string(login_name) + "=" +
                                           process::variable(environment, name).value_or(""));
}

std::string words_to_keep_login_paths(bool is_for_csh) {
  std::string words;
  for (const auto& [name, login_name] :
       {std::pair(kPath, kLoginPath), std::pair(kLibraries, kLoginLibraries)}) {
    const std::string own = name, kept = login_name;
    // csh ends at a variable that is not set.
    words += is_for_csh ? "setenv " + kept + " \"`printenv " + own + "`\"; "
                        : kept + "=\"${" + own + "-}\"; export " + kept + "; ";
  }
  return words;
}

void restore_login_paths(std::vector<std::string>& environment) {
  restore(environment, kPath, kLoginPath, {});
  restore(environment, kLibraries, kLoginLibraries, kUsualLibraries);
}

}  // namespace fastgpu::agent
