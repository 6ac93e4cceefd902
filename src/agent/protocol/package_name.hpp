// Names of Python packages in the form in which indexes compare them (PEP 503).
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Returns true for a valid name: letters, digits, '-', '_' and '.', beginning and ending with a
/// letter or digit (PEP 508).
bool is_package_name(std::string_view text);

/// Returns "foo-bar" for "Foo._bar".
std::string normalized_package_name(std::string_view name);

}  // namespace fastgpu::agent
