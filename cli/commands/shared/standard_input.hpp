// The decision whether our standard input is passed on to a program on a node.
#pragma once

namespace fastgpu::cli {

/// Returns true if `fd` is readable and is a file, a pipe or a socket. A terminal stays with the
/// user's shell; devices such as /dev/null have nothing to pass on.
bool is_passed_on(int fd) noexcept;

/// Returns true if `fd` is passed on, and has something to read now: a file that is not read to its
/// end, or a pipe or a socket with data. Reads nothing.
bool has_something_to_read(int fd) noexcept;

}  // namespace fastgpu::cli
