// Commands in a form that every login shell reads in the same way.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu {

/// Returns a command line that runs `script` by /bin/sh. bash, dash, zsh, fish, tcsh, ksh and
/// busybox all read it in the same way. This is necessary because sshd passes a command to the
/// account's login shell, and these shells read quotes, backslashes and '!' differently. Bytes that
/// one of them would change are encoded as octal numbers. HOME is the account's if start-up files
/// have left none, so that "~" has a meaning.
std::string login_shell_command(std::string_view script);

}  // namespace fastgpu
