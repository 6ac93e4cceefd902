#include "transfer/across.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/error.hpp"
#include "base/files.hpp"
#include "transfer/own_directory.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::transfer {
namespace {

/// One entry to copy.
struct Entry {
  int from;
  const std::string& name;
  int to;
  const std::string& new_name;
  const std::string& shown;
  struct stat info {};

  Error failed() const { return system_error("writing " + shown, errno); }
};

void keep_looks(int fd, const Entry& entry) {
  const timespec times[2] = {entry.info.st_mtim, entry.info.st_mtim};
  if (::fchmod(fd, entry.info.st_mode & 07777) != 0 || ::futimens(fd, times) != 0)
    throw entry.failed();
}

void copy_bytes(int from, int to, const Entry& entry) {
  std::string buffer(256UL * 1024, '\0');
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw entry.failed();
    if (got == 0) return;
    write_all(to, {buffer.data(), static_cast<std::size_t>(got)}, "writing " + entry.shown);
  }
}

void copy_file(const Entry& entry) {
  // The file's own mode may forbid reading it. If the mode cannot be changed, opening the file
  // fails with the reason.
  [[maybe_unused]] const int changed =
      ::fchmodat(entry.from, entry.name.c_str(), (entry.info.st_mode & 07777) | S_IRUSR, 0);
  const UniqueFd from(::openat(entry.from, entry.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const UniqueFd to(::openat(entry.to, entry.new_name.c_str(), kNew, S_IRUSR | S_IWUSR));
  if (!from || !to) throw entry.failed();
  copy_bytes(from.get(), to.get(), entry);
  keep_looks(to.get(), entry);
}

void copy_link(const Entry& entry) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size =
      ::readlinkat(entry.from, entry.name.c_str(), target.data(), target.size() - 1);
  if (size < 0 || ::symlinkat(target.data(), entry.to, entry.new_name.c_str()) != 0)
    throw entry.failed();
  const timespec times[2] = {entry.info.st_mtim, entry.info.st_mtim};
  ::utimensat(entry.to, entry.new_name.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

void copy_directory(const Entry& entry) {
  const UniqueFd from(::openat(entry.from, entry.name.c_str(), kDirectoryFlags));
  if (!from || ::mkdirat(entry.to, entry.new_name.c_str(), S_IRWXU) != 0) throw entry.failed();
  const UniqueFd to(::openat(entry.to, entry.new_name.c_str(), kDirectoryFlags));
  if (!to) throw entry.failed();
  for (const std::string& name : names_in_directory(from.get()))
    copy_across(from.get(), name, to.get(), name, entry.shown + "/" + name);
  keep_looks(to.get(), entry);
}

}  // namespace

void copy_across(int from, const std::string& name, int to, const std::string& new_name,
                 const std::string& shown) {
  Entry entry{from, name, to, new_name, shown};
  if (::fstatat(from, name.c_str(), &entry.info, AT_SYMLINK_NOFOLLOW) != 0) throw entry.failed();
  if (S_ISDIR(entry.info.st_mode))
    copy_directory(entry);
  else if (S_ISLNK(entry.info.st_mode))
    copy_link(entry);
  else
    copy_file(entry);
}

}  // namespace fastgpu::transfer
