// PATH and LD_LIBRARY_PATH of ranks. mpirun and its daemons put their own directories in front,
// also if a login has them further behind: `python` would be another one than in a login.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The variables by which ranks get PATH and LD_LIBRARY_PATH of a login to their node. Programs do
/// not see them.
inline constexpr const char* kLoginPath = "FASTGPU_LOGIN_PATH";
inline constexpr const char* kLoginLibraries = "FASTGPU_LOGIN_LIBS";

/// Returns `login` with the directories that `now` has in front of it: each once, and without
/// those that are in `login` already or that are searched in any case (`usual`). Returns `now` if
/// it does not end with `login`.
std::string search_path(std::string_view now, std::string_view login,
                        std::span<const std::string_view> usual);

/// Adds the variables for ranks to the environment of their launcher.
void keep_login_paths(std::vector<std::string>& environment);

/// Returns commands for a shell that do the same: for sh, or for csh.
std::string words_to_keep_login_paths(bool is_for_csh);

/// Gives a rank's environment the paths of a login, and removes the variables.
void restore_login_paths(std::vector<std::string>& environment);

}  // namespace fastgpu::agent
