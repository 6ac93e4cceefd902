#include "comm/rendezvous/secret.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::comm {
namespace {

constexpr const char* kFileVariable = "FASTGPU_COMM_SECRET_FILE";
constexpr std::size_t kMaxBytes = 4'096;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::usage,
              std::string(kFileVariable) + " is '" + printable(path, 200) + "': " + why);
}

[[noreturn]] void refuse(const std::string& path, int error_number) {
  refuse(path, std::generic_category().message(error_number));
}

/// Opens a regular file; does not wait for a pipe or a device.
UniqueFd open_regular(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) refuse(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse(path, errno);
  if (!S_ISREG(status.st_mode)) refuse(path, "not a regular file");
  return file;
}

std::string content(const UniqueFd& file, const std::string& path) {
  std::string text = read_to_end(file.get(), "reading " + path, kMaxBytes);
  if (text.size() > kMaxBytes) refuse(path, "larger than " + std::to_string(kMaxBytes) + " bytes");
  return text;
}

}  // namespace

Secret read_secret(const Environment& environment) {
  if (auto secret = environment("FASTGPU_COMM_SECRET")) return Secret(std::move(*secret));
  const auto path = environment(kFileVariable);
  if (!path) return {};
  std::string text = content(open_regular(*path), *path);
  text.erase(text.find_last_not_of("\r\n") + 1);
  if (text.empty()) refuse(*path, "the file is empty");
  return Secret(std::move(text));
}

}  // namespace fastgpu::comm
