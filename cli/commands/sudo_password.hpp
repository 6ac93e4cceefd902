// The password that sudo asks for on nodes: from the terminal or from a file.
#pragma once

#include <optional>
#include <string>

#include "base/secret.hpp"
#include "cli/app.hpp"
#include "cli/context.hpp"

namespace fastgpu::cli {

/// --ask-sudo-password, --sudo-password-file.
struct SudoPasswordOptions {
  bool ask = false;
  std::string file;
};
void describe_sudo_password(Arguments& arguments, SudoPasswordOptions& options);

/// Absent where neither is given; asked for where both are, as the file may stand in the
/// environment. Throws ErrorKind::usage without a terminal to ask on, for an empty password and for
/// a file that others can read too, not_found where there is none, interrupted on a Ctrl-C.
std::optional<Secret> sudo_password(Context& context, const SudoPasswordOptions& options);

}  // namespace fastgpu::cli
