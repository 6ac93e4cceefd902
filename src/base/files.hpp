// Reads files and streams to their end, and writes all of a text to them.
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace fastgpu {

/// Writes all of `bytes`. Throws the system's error, which begins with `doing`.
void write_all(int fd, std::string_view bytes, std::string_view doing);

/// Returns the bytes up to the end, or a little more than `most` bytes, so that the caller can
/// refuse what is larger. Throws the system's error, which begins with `doing`.
std::string read_to_end(int fd, std::string_view doing,
                        std::size_t most = std::numeric_limits<std::size_t>::max());

/// Returns the text of a file; absent if it does not exist. Throws the system's error.
std::optional<std::string> read_file(const std::filesystem::path& path);

/// Returns the first line of a file without its line end; "" if the file cannot be read.
std::string first_line_of(const std::filesystem::path& path);

}  // namespace fastgpu
