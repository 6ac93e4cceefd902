// Arguments made safe for the one shell that we cannot avoid: the one that sshd starts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

/// Returns `text` as one word of a POSIX shell, for any bytes (except NUL, which no argument can
/// contain). Words of plain characters stay unchanged.
std::string shell_quote(std::string_view text);

/// Returns the words quoted and joined by spaces.
std::string shell_join(std::span<const std::string> words);

}  // namespace fastgpu
