// Patterns with '*' and '?' for host names, matched as OpenSSH does.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Returns true if the name matches, ignoring case. '[' has no special meaning.
bool pattern_match(std::string_view pattern, const std::string& name);

}  // namespace fastgpu::ssh
