// --out FILE and --force: writing a result to a file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

struct OutFile {
  std::string path{};
  bool force = false;               ///< Replaces an existing file.
  std::string_view flag = "--out";  ///< The flag that gave the path, for messages.
};
Argument& describe_out_file(Arguments& arguments, std::string_view help, OutFile& out);

/// Throws ErrorKind::conflict if the file exists without --force, not_found if its directory is
/// missing, and as require_files_in() if nothing can be written in it. To be called before the
/// work whose result goes there.
void check_out_file(const OutFile& out);

/// Renames a finished draft, which must be in the same directory, to the file. Throws as
/// check_out_file() does if the file has been created meanwhile.
void publish_out_file(const std::filesystem::path& draft, const OutFile& out);

/// Writes `text` to the file, with mode 0644, completely or not at all.
void write_out_file(const OutFile& out, std::string_view text);

}  // namespace fastgpu::cli
