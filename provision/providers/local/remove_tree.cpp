// Deletes a node's tree, with the depth and the flags that its programs gave it.
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "provision/providers/local/durable_files.hpp"

namespace fastgpu::provision::local {
namespace {

int close_directory(DIR* directory) {
  return ::closedir(directory);
}

/// Clears flags: immutable and append-only files cannot be deleted, nor any file in such a folder.
void clear_flags(int folder, const char* name, int open_flags) {
  const UniqueFd file(
      ::openat(folder, name, open_flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  int flags = 0;
  if (!file || ::ioctl(file.get(), FS_IOC_GETFLAGS, &flags) != 0) return;
  flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
  ::ioctl(file.get(), FS_IOC_SETFLAGS, &flags);
}

class TreeRemover {
 public:
  TreeRemover(std::string top, int deepest) : top_(std::move(top)), deepest_(deepest) {}

  void remove(int parent, const std::string& name, const std::string& shown, int depth) {
    if (unlink(parent, name, 0)) return;
    if (errno != EISDIR && errno != EPERM) throw failure(shown);
    struct stat found {};
    if (::fstatat(parent, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!S_ISDIR(found.st_mode)) return insist(parent, name, shown, 0);
    if (depth >= deepest_ && lift(parent, name)) return;
    empty(parent, name, shown, depth);
    if (!unlink(parent, name, AT_REMOVEDIR)) insist(parent, name, shown, AT_REMOVEDIR);
  }

  /// Returns true if a deep folder has been moved to the top, to be removed from there.
  bool lifted() const noexcept { return lifted_ > 0; }
  void forget_lifted() noexcept { lifted_ = 0; }

 private:
  static bool unlink(int parent, const std::string& name, int flags) {
    return ::unlinkat(parent, name.c_str(), flags) == 0 || errno == ENOENT;
  }

  static Error failure(const std::string& shown) {
    return system_error("deleting " + shown, errno);
  }

  static void insist(int parent, const std::string& name, const std::string& shown, int flags) {
    if (parent != AT_FDCWD) clear_flags(parent, ".", O_DIRECTORY);
    clear_flags(parent, name.c_str(), 0);
    if (!unlink(parent, name, flags)) throw failure(shown);
  }

  bool lift(int parent, const std::string& name) {
    const std::string place = top_ + "/.deep-" + std::to_string(++serial_);
    if (::renameat(parent, name.c_str(), AT_FDCWD, place.c_str()) != 0) return false;
    ++lifted_;
    return true;
  }

  void empty(int parent, const std::string& name, const std::string& shown, int depth) {
    const int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) throw failure(shown);
    const CHandle<DIR, close_directory> folder(::fdopendir(fd));
    if (!folder) {
      ::close(fd);
      throw failure(shown);
    }
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string child = entry->d_name;
      if (child != "." && child != "..") remove(fd, child, shown + "/" + child, depth + 1);
    }
  }

  std::string top_;
  int deepest_;  ///< Each level takes a descriptor.
  int serial_ = 0;
  int lifted_ = 0;
};

}  // namespace

void remove_tree(const std::filesystem::path& path, int deepest) {
  const std::string top = path.string();
  TreeRemover remover(top, deepest);
  struct stat found {};
  while (::lstat(top.c_str(), &found) == 0) {
    try {
      remover.remove(AT_FDCWD, top, top, 0);
    } catch (const Error&) {
      // Folders that were lifted into the top while it was being emptied are still there.
      if (!remover.lifted()) throw;
      remover.forget_lifted();
    }
  }
}

}  // namespace fastgpu::provision::local
