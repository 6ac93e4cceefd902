// Commands in a form that every login shell reads alike.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu {

/// Returns a line that bash, dash, zsh, fish, tcsh, ksh and busybox all read as: exec /bin/sh,
/// which runs `script`. sshd passes a command to the account's login shell, and each of those reads
/// quotes, backslashes and '!' differently. Bytes that one of them would change are encoded as
/// octal numbers.
std::string login_shell_command(std::string_view script);

}  // namespace fastgpu
