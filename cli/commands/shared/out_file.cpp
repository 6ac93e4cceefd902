#include "cli/commands/shared/out_file.hpp"

#include <fcntl.h>
#include <stdio.h>  // renameat2
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/chosen_place.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;

Error is_there(const OutFile& out) {
  return {ErrorKind::conflict, "'" + out.path + "' already exists: use --force to overwrite it"};
}

bool is_special(const fs::path& path) {
  std::error_code none;
  const auto status = fs::status(path, none);
  return status.type() != fs::file_type::not_found && !fs::is_regular_file(status);
}

}  // namespace

Argument& describe_out_file(Arguments& arguments, std::string_view help, OutFile& out) {
  arguments.flag("--force", "Overwrite the file of --out", out.force);
  Argument& argument = arguments.text("--out", "FILE", help, out.path);
  argument.values = Values::path;
  return argument;
}

void check_out_file(const OutFile& out) {
  struct stat status {};
  if (::lstat(out.path.c_str(), &status) == 0) {
    if (is_special(out.path))
      throw Error(ErrorKind::usage,
                  std::string(out.flag) + " '" + out.path + "' is not a regular file");
    if (!out.force) throw is_there(out);
  }
  const fs::path directory = fs::absolute(out.path).parent_path();
  std::error_code none;
  if (!fs::is_directory(directory, none))
    throw Error(ErrorKind::not_found, std::string(out.flag) + " '" + out.path +
                                          "': no such directory: " + directory.string());
  require_files_in({.name = std::string(out.flag), .path = out.path}, directory);
}

void publish_out_file(const fs::path& draft, const OutFile& out) {
  const unsigned flags = out.force ? 0 : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, out.path.c_str(), flags) == 0) return;
  if (errno == EEXIST) throw is_there(out);
  if (errno != EINVAL) throw system_error("writing " + out.path, errno);
  check_out_file(out);  // The file system does not support the flag.
  if (::rename(draft.c_str(), out.path.c_str()) != 0)
    throw system_error("writing " + out.path, errno);
}

void write_out_file(const OutFile& out, std::string_view text) {
  const fs::path draft = out.path + ".partial." + std::to_string(::getpid());
  const UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) throw system_error("making " + draft.string(), errno);
  try {
    write_all(file.get(), text, "writing " + draft.string());
    if (::fsync(file.get()) != 0) throw system_error("writing " + draft.string(), errno);
    publish_out_file(draft, out);
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove(draft, ignored);
    throw;
  }
}

}  // namespace fastgpu::cli
