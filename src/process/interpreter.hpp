// The interpreter that the first line of a script names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace fastgpu::process {

/// The words with which missing_interpreter() begins.
inline constexpr std::string_view kItsInterpreter = "its interpreter ";

/// Returns the rest of the first line of a script, after "#!"; absent for any other file.
std::optional<std::string> interpreter_line(const std::filesystem::path& file);

/// Returns why the kernel found no interpreter for a script whose first line has this rest; "" for
/// an empty line.
std::string absent_interpreter(const std::string& line);

/// Returns why the script `file` cannot start, or "" for any other file: its interpreter does not
/// exist, or is not in `path`, where /usr/bin/env looks for it.
std::string missing_interpreter(const std::filesystem::path& file, std::string_view path);

}  // namespace fastgpu::process
