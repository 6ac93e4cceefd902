#include "provision/providers/local/init/system.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/files.hpp"

namespace fastgpu::provision::local {

void mount_at(const std::string& source, const std::string& target, const char* type,
              unsigned long flags, const std::string& options) {
  if (::mount(source.c_str(), target.c_str(), type, flags, options.c_str()) != 0)
    throw system_error("mounting " + source + " at " + target, errno);
}

Root::Root(const std::string& path) : directory_(::open(path.c_str(), O_PATH | O_CLOEXEC)) {
  if (!directory_) throw system_error("opening " + path, errno);
}

UniqueFd Root::find(const std::string& path) const {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const long fd = ::syscall(SYS_openat2, directory_.get(), path.c_str(), &how, sizeof how);
  if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
    throw system_error("looking for " + path, errno);
  return UniqueFd(static_cast<int>(fd));
}

std::string path_of(const UniqueFd& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

void make_directory(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    ::chmod(path.c_str(), mode);  // Independent of the umask.
  } else if (errno != EEXIST) {
    throw system_error("making " + path, errno);
  }
}

void write_text(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw system_error("writing " + path, errno);
  write_all(file.get(), text, "writing " + path);
}

std::string read_text(const std::string& path) {
  std::string text;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> piece;
  for (ssize_t n; file && (n = ::read(file.get(), piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(n));
  return text;
}

bool take_lock(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) throw system_error("opening " + path, errno);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file, F_SETLK, &lock) == 0) return true;
  if (errno == EACCES || errno == EAGAIN) return false;
  throw system_error("locking " + path, errno);
}

void answer(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

void let_go_of_streams() {
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO})
    if (!nothing || ::dup2(nothing.get(), stream) < 0) ::close(stream);
}

bool is_hung_up(int pipe) {
  pollfd wait{pipe, 0, 0};
  return ::poll(&wait, 1, 0) > 0;
}

}  // namespace fastgpu::provision::local
