#include "transfer/publish.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::transfer {
namespace {

enum class Kind : std::uint8_t { nothing, directory, other };
enum class Pass : std::uint8_t { check, move };

Kind kind_of(int parent, const std::string& name) {
  struct stat info {};
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Kind::nothing;
    throw system_error("looking at " + name, errno);
  }
  return S_ISDIR(info.st_mode) ? Kind::directory : Kind::other;
}

UniqueFd open_inner(int parent, const std::string& name) {
  UniqueFd fd(::openat(parent, name.c_str(), kDirectoryFlags));
  if (!fd) throw system_error("opening the directory " + name, errno);
  return fd;
}

std::vector<std::string> names_in(int fd) {
  const int own = ::openat(fd, ".", kDirectoryFlags);
  const CHandle<DIR, ::closedir> dir(own < 0 ? nullptr : ::fdopendir(own));
  if (!dir) throw system_error("reading a directory", errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

class Publisher {
 public:
  explicit Publisher(Pass pass) : pass_(pass) {}

  void directory(int from, int to, const std::string& path) {
    for (const std::string& name : names_in(from))
      entry(from, to, name, path.empty() ? name : path + "/" + name);
  }

  std::set<std::string> take_existing() { return std::move(existing_); }

 private:
  void entry(int from, int to, const std::string& name, const std::string& path) {
    const Kind source = kind_of(from, name);
    const Kind target = kind_of(to, name);
    if (target == Kind::nothing || (source == Kind::other && target == Kind::other)) {
      move(from, to, name, path);
    } else if (source == Kind::directory && target == Kind::directory) {
      const UniqueFd inner_from = open_inner(from, name);
      const UniqueFd inner_to = open_inner(to, name);
      existing_.insert(path);
      directory(inner_from.get(), inner_to.get(), path);
    } else {
      throw Error(ErrorKind::conflict,
                  path + (target == Kind::directory ? " is a directory there, and a file here"
                                                    : " is no directory there, but one here"));
    }
  }

  void move(int from, int to, const std::string& name, const std::string& path) const {
    if (pass_ == Pass::check) return;
    if (::renameat(from, name.c_str(), to, name.c_str()) != 0)
      throw system_error("putting " + path + " in its place", errno);
  }

  Pass pass_;
  std::set<std::string> existing_;
};

void finish_directory(int root, const DirectoryRecord& record, Rights rights) {
  const UniqueFd fd = open_below(root, record.path);
  const timespec modified = as_timespec(record.modified);
  const timespec times[2] = {modified, modified};
  const mode_t more = rights == Rights::owner_may_write ? S_IRWXU : 0;
  if (!fd || ::fchmod(fd.get(), permission_bits(record.mode) | more) != 0 ||
      ::futimens(fd.get(), times) != 0)
    throw system_error("setting mode and time of " + record.path, errno);
}

}  // namespace

std::set<std::string> publish(int from, int to) {
  Publisher(Pass::check).directory(from, to, "");
  Publisher mover(Pass::move);
  mover.directory(from, to, "");
  return mover.take_existing();
}

void finish_directories(int root, const std::vector<DirectoryRecord>& directories,
                        const std::set<std::string>& existing, Rights rights) {
  for (auto record = directories.rbegin(); record != directories.rend(); ++record)
    if (!existing.contains(record->path)) finish_directory(root, *record, rights);
}

}  // namespace fastgpu::transfer
