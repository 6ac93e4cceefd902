// Commands in a form that every login shell reads alike.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu {

/// A line that bash, dash, zsh, fish, tcsh, ksh and busybox all read as: replace yourself by
/// /bin/sh, which runs `script`. sshd gives a command to the account's login shell, and each of
/// those reads quotes, backslashes and '!' in its own way. Bytes that one of them would change
/// travel as octal numbers.
std::string login_shell_command(std::string_view script);

}  // namespace fastgpu
