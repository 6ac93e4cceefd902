// Names of Python packages in the form in which indexes compare them (PEP 503), and their versions.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Returns true for a valid name: letters, digits, '-', '_' and '.', beginning and ending with a
/// letter or digit (PEP 508).
bool is_package_name(std::string_view text);

/// Returns "foo-bar" for "Foo._bar".
std::string normalized_package_name(std::string_view name);

/// Returns true for a version of a preview (PEP 440): "1.0rc1", "0.3.1.dev5"; false for
/// "1.0.post1".
bool is_prerelease(std::string_view version);

}  // namespace fastgpu::agent
