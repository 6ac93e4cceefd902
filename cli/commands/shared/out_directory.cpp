#include "cli/commands/shared/out_directory.hpp"

#include <system_error>

#include "base/chosen_place.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {

namespace fs = std::filesystem;

OutDirectory::OutDirectory(std::string_view flag, const std::string& path) : path_(path) {
  if (path == "~" || path.starts_with("~/"))
    throw Error(ErrorKind::usage, std::string(flag) + " " + printable(path) +
                                      ": ~ is not expanded in paths of this machine: write the "
                                      "full path, or one that starts in the current directory");
  require_writable_directory({.name = std::string(flag), .path = path_});
}

void make_directories(const fs::path& directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure) throw system_error("making the directory " + directory.string(), failure.value());
}

}  // namespace fastgpu::cli
