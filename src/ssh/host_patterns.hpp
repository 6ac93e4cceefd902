// Patterns with '*' and '?' for the names of hosts, as OpenSSH matches them.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Upper and lower case are the same; '[' is a letter as any other.
bool pattern_match(std::string_view pattern, const std::string& name);

}  // namespace fastgpu::ssh
