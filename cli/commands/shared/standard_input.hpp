// The check that our standard input is meant for a program on a node.
#pragma once

namespace fastgpu::cli {

/// Returns true for a file, a pipe and a socket. A terminal is left to the user's shell, and
/// devices such as /dev/null have nothing to pass on.
bool is_passed_on(int fd) noexcept;

}  // namespace fastgpu::cli
