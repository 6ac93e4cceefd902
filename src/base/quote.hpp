// Arguments made safe for the one shell that we cannot avoid: the one that sshd starts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

/// `text` as one word of a POSIX shell, whatever bytes it has (NUL excepted, which no argument can
/// carry). Words of plain characters stay as they are.
std::string shell_quote(std::string_view text);

/// The words quoted and joined by spaces.
std::string shell_join(std::span<const std::string> words);

}  // namespace fastgpu
