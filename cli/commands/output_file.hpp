// A file here that a command writes: --out FILE, never over another one unasked.
#pragma once

#include <string>
#include <string_view>

#include "cli/arguments.hpp"

namespace fastgpu::cli {

struct OutputFile {
  std::string path;
  bool force = false;
};

/// Declares --out FILE and --force. -o is the output format of every command, never a file.
Argument& describe_output_file(Arguments& arguments, std::string_view help, OutputFile& file);

/// Throws ErrorKind::conflict if the file exists and is not to be replaced. To be called before
/// the work that makes its content.
void check_output_file(const OutputFile& file);

/// Writes `text` to the file, whole or not at all; see check_output_file().
void write_output_file(const OutputFile& file, std::string_view text);

}  // namespace fastgpu::cli
