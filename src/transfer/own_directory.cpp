#include "transfer/own_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::transfer {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr const char* kProbe = "probe";

/// Returns true if both belong to the same user and other users have no access to the directory. On
/// a file system without modes (which shows the file as open to others) only the owner counts.
bool is_made_by_maker_of(const struct stat& file, const struct stat& directory) noexcept {
  const bool has_modes = (file.st_mode & kOthers) == 0;
  return file.st_uid == directory.st_uid && (!has_modes || (directory.st_mode & kOthers) == 0);
}

}  // namespace

bool is_own_directory(int directory) noexcept {
  struct stat info {};
  return ::fstat(directory, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 0777) == S_IRWXU;
}

UniqueFd open_own_directory(int parent, const std::string& name) noexcept {
  UniqueFd directory(::openat(parent, name.c_str(), kDirectoryFlags | O_NONBLOCK));
  if (directory && !is_own_directory(directory.get())) return {};
  return directory;
}

UniqueFd make_own_directory(int parent, const std::string& name, const std::string& shown) {
  const auto failed = [&] { return system_error("writing into " + shown, errno); };
  if (::mkdirat(parent, name.c_str(), S_IRWXU) != 0) {
    if (errno == EEXIST) return {};
    throw failed();
  }
  UniqueFd directory(::openat(parent, name.c_str(), kDirectoryFlags | O_NONBLOCK));
  const bool is_replaced = errno == ENOENT || errno == ELOOP || errno == ENOTDIR;
  if (!directory && is_replaced) return {};
  if (!directory) throw failed();
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const UniqueFd file(::openat(directory.get(), kProbe, kNew, S_IRUSR | S_IWUSR));
  // The directory is another user's, or was removed already.
  if (!file && (errno == EEXIST || errno == ENOENT)) return {};
  struct stat of_file {};
  struct stat of_directory {};
  if (!file || ::fstat(file.get(), &of_file) != 0 || ::fstat(directory.get(), &of_directory) != 0)
    throw failed();
  ::unlinkat(directory.get(), kProbe, 0);
  if (!is_made_by_maker_of(of_file, of_directory)) return {};
  return directory;
}

std::string unused_name() {
  return std::string(kCopyMarker) + random_hex(8);
}

std::vector<std::string> names_in_directory(int directory) {
  const int own = ::openat(directory, ".", kDirectoryFlags);
  const CHandle<DIR, ::closedir> dir(own < 0 ? nullptr : ::fdopendir(own));
  if (!dir) throw system_error("reading a directory", errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

void remove_content(int directory) noexcept try {
  for (const std::string& name : names_in_directory(directory))
    remove_tree(directory, name);
} catch (...) {
  return;  // The next copy removes it.
}

void remove_tree(int parent, const std::string& name) noexcept {
  if (::unlinkat(parent, name.c_str(), 0) == 0) return;
  if (const UniqueFd directory(::openat(parent, name.c_str(), kDirectoryFlags)); directory) {
    ::fchmod(directory.get(), S_IRWXU);
    remove_content(directory.get());
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

}  // namespace fastgpu::transfer
