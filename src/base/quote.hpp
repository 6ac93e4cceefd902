// Quotes arguments for the shell that sshd starts, which is the only shell that we cannot avoid.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

/// Returns `text` quoted as one word of a POSIX shell. Accepts any bytes except NUL, which
/// arguments cannot contain. A word of plain characters is returned as it is.
std::string shell_quote(std::string_view text);

/// Returns the words quoted and joined by spaces.
std::string shell_join(std::span<const std::string> words);

}  // namespace fastgpu
