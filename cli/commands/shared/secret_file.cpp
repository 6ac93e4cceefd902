#include "cli/commands/shared/secret_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::cli {

UniqueFd open_secret_file(const std::string& flag, const std::string& path) {
  const std::string what = flag + " '" + path + "'";
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0)
    throw Error(ErrorKind::not_found, system_error(what, errno).what());
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    throw Error(ErrorKind::usage, what + " belongs to another user: use a file of your own");
  if ((info.st_mode & 077) != 0)
    throw Error(ErrorKind::usage, what + " can be read by other users: chmod 600 it");
  return file;
}

}  // namespace fastgpu::cli
