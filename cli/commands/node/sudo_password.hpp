// The password for sudo on nodes: from the terminal or from a file.
#pragma once

#include <optional>
#include <string>

#include "base/secret.hpp"
#include "cli/program/app.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {

/// The values of --ask-sudo-password, --sudo-password-file.
struct SudoPasswordOptions {
  bool ask = false;
  std::string file;
};
void describe_sudo_password(Arguments& arguments, SudoPasswordOptions& options);

/// Returns the password; absent if neither option is given. If both are, it is asked for, as the
/// file may come from the environment. Throws ErrorKind::usage without a terminal to ask on, for an
/// empty password and for a file that others can read too. Throws not_found for a missing file,
/// interrupted on a Ctrl-C.
std::optional<Secret> sudo_password(Context& context, const SudoPasswordOptions& options);

}  // namespace fastgpu::cli
