// Patterns with '*' and '?' for the names of hosts, as OpenSSH matches them.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Compares without regard to case; '[' has no special meaning.
bool pattern_match(std::string_view pattern, const std::string& name);

}  // namespace fastgpu::ssh
