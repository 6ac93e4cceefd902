#include "cli/commands/shared/out_directory.hpp"

#include <stdlib.h>  // mkdtemp
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;

/// Returns true if there is an entry of this name, be it a link that leads nowhere.
bool has_entry(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw system_error("looking at " + path.string(), errno);
}

/// Returns the directory itself, or the nearest one above it that exists.
fs::path nearest_entry(const fs::path& directory) {
  std::error_code failure;
  fs::path place = fs::absolute(directory, failure);
  if (failure) throw system_error("looking for the current directory", failure.value());
  while (!has_entry(place) && place.has_relative_path())
    place = place.parent_path();
  return place;
}

}  // namespace

OutDirectory::OutDirectory(std::string_view flag, const std::string& path) : path_(path) {
  const std::string who = std::string(flag) + " " + printable(path);
  if (path == "~" || path.starts_with("~/"))
    throw Error(ErrorKind::usage, who +
                                      ": ~ is not expanded in paths of this machine: write the "
                                      "full path, or one that starts in the current directory");
  const fs::path place = nearest_entry(path_);
  const std::string there = printable(place.string(), 200);
  std::error_code unknown;
  if (!fs::is_directory(place, unknown))
    throw Error(ErrorKind::usage, who + ": " + there + " is not a directory");
  check_can_write_in(who, place);
}

void check_can_write_in(std::string_view who, const fs::path& directory) {
  std::string name = (directory / ".fastgpu-trial-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw system_error(
        std::string(who) + ": nothing can be written in " + printable(directory.string(), 200),
        errno);
  ::rmdir(name.c_str());
}

void make_directories(const fs::path& directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure) throw system_error("making the directory " + directory.string(), failure.value());
}

}  // namespace fastgpu::cli
