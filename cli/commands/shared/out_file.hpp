// --out FILE and --force: a result that is written to a file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

struct OutFile {
  std::string path;
  bool force = false;  ///< Replaces an existing file.
};
Argument& describe_out_file(Arguments& arguments, std::string_view help, OutFile& out);

/// Throws ErrorKind::conflict if the file exists and --force is absent, not_found for a missing
/// directory. Called before work is done for it.
void check_out_file(const OutFile& out);

/// Gives a finished draft in the same directory its name. Throws as check_out_file if the file has
/// been made meanwhile.
void publish_out_file(const std::filesystem::path& draft, const OutFile& out);

/// Writes a text there, mode 0644, completely or not at all.
void write_out_file(const OutFile& out, std::string_view text);

}  // namespace fastgpu::cli
