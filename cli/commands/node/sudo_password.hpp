// The password for sudo on the nodes, from the terminal or from a file.
#pragma once

#include <optional>
#include <string>

#include "base/secret.hpp"
#include "cli/program/app.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {

/// The values of --ask-sudo-password and --sudo-password-file.
struct SudoPasswordOptions {
  bool ask = false;
  std::string file;
};
void describe_sudo_password(Arguments& arguments, SudoPasswordOptions& options);

/// Returns the password; absent if neither option is given. If both are, asks for it, because the
/// file may come from the environment. Throws ErrorKind::usage without a terminal to ask at, for an
/// empty password, and for a file that others can read. Throws not_found for a missing file, and
/// interrupted on Ctrl-C.
std::optional<Secret> sudo_password(Context& context, const SudoPasswordOptions& options);

}  // namespace fastgpu::cli
