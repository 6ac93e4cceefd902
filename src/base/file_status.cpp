#include "base/file_status.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace fastgpu {

std::optional<struct stat> find_status(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT) return std::nullopt;
  throw system_error("looking at " + path.string(), errno);
}

bool path_exists(const std::filesystem::path& path) {
  return find_status(path).has_value();
}

}  // namespace fastgpu
