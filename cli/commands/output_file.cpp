#include "cli/commands/output_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/names.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

Argument& describe_output_file(Arguments& arguments, std::string_view help, OutputFile& file) {
  arguments.flag("--force", "Replace the file if it exists", file.force);
  Argument& out = arguments.text("--out", "FILE", help, file.path);
  out.values = Values::path;
  return out;
}

void check_output_file(const OutputFile& file) {
  const std::string name = "--out '" + printable(file.path, 200) + "'";
  struct stat status {};
  if (::lstat(file.path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    throw system_error(name, errno);
  }
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::conflict, name + " exists and is no regular file: give another name");
  if (!file.force)
    throw Error(ErrorKind::conflict,
                name + " exists already: --force replaces it, or give another name");
}

void write_output_file(const OutputFile& file, std::string_view text) {
  check_output_file(file);
  state::write_private_file(std::filesystem::absolute(file.path), std::string(text));
}

}  // namespace fastgpu::cli
