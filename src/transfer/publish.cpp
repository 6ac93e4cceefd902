#include "transfer/publish.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"
#include "transfer/across.hpp"
#include "transfer/own_directory.hpp"
#include "transfer/paths.hpp"
#include "transfer/staging.hpp"

namespace fastgpu::transfer {
namespace {

enum class Kind : std::uint8_t {
  nothing,
  directory,
  file,    ///< A file, or a symbolic link.
  special  ///< A device, a pipe or a socket.
};

Error cannot_look(const std::string& path) {
  return system_error("looking at " + printable(path), errno);
}

Kind kind_of(int parent, const std::string& name) {
  struct stat info {};
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Kind::nothing;
    throw cannot_look(name);
  }
  if (S_ISDIR(info.st_mode)) return Kind::directory;
  return S_ISREG(info.st_mode) || S_ISLNK(info.st_mode) ? Kind::file : Kind::special;
}

UniqueFd open_inner(int parent, const std::string& name) {
  UniqueFd fd(::openat(parent, name.c_str(), kDirectoryFlags));
  if (!fd) throw system_error("opening the directory " + printable(name), errno);
  return fd;
}

/// Returns true if another file is mounted over this one, and the kernel reports it.
bool is_mount_point(int parent, const std::string& name) {
  struct statx info {};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  return ::statx(parent, name.c_str(), kFlags, STATX_TYPE, &info) == 0 &&
         (info.stx_attributes & info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// Returns true if the sticky bit of `directory` forbids us to replace the file there.
bool is_kept_by_owner(int directory, const std::string& name) {
  struct stat file {};
  struct stat above {};
  if (::geteuid() == 0 || ::fstat(directory, &above) != 0 || (above.st_mode & S_ISVTX) == 0 ||
      ::fstatat(directory, name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  return file.st_uid != ::geteuid() && above.st_uid != ::geteuid();
}

/// Makes a finished tree visible in two steps. Everything that can fail is tried before anything is
/// moved.
class Publisher {
 public:
  Publisher(int from, int to) : from_(from), to_(to) {}

  std::set<std::string> run() {
    plan(from_, to_, "");
    for (const Move& move : moves_)
      if (move.bridge != nullptr) take_across(move);
    for (const Move& move : moves_)
      put_in_place(move);
    return std::move(existing_);
  }

 private:
  /// The move of one entry into the destination.
  struct Move {
    std::string path;
    /// The staging directory on the destination's file system, if that differs from the copy's.
    Staging* bridge = nullptr;
    std::string name_there{};
  };

  void plan(int from, int to, const std::string& path) {
    // The staging directory from which entries go to `to`; set once one needs it.
    std::optional<Staging*> way;
    for (const std::string& name : names_in_directory(from)) {
      const std::string inner = path.empty() ? name : path + "/" + name;
      const Kind source = kind_of(from, name);
      const Kind target = kind_of(to, name);
      if (source == Kind::directory && target == Kind::directory) {
        existing_.insert(inner);
        plan(open_inner(from, name).get(), open_inner(to, name).get(), inner);
        continue;
      }
      if (target != Kind::nothing) check_replaceable(to, name, inner, source, target);
      if (!way) way = path.empty() ? nullptr : way_into(to, path);
      moves_.push_back({inner, *way, std::to_string(moves_.size())});
    }
  }

  static void check_replaceable(int to, const std::string& name, const std::string& path,
                                Kind source, Kind target) {
    if (target == Kind::special)
      throw Error(ErrorKind::conflict, printable(path) +
                                           " is a device, a pipe or a socket there, which is not "
                                           "replaced");
    if (source != target)
      throw Error(ErrorKind::conflict,
                  printable(path) + (target == Kind::directory
                                         ? " is a directory there, and a file here"
                                         : " is not a directory there, but one here"));
    if (is_mount_point(to, name))
      throw Error(ErrorKind::conflict, printable(path) +
                                           " is a mount point there, which cannot be "
                                           "replaced");
    if (is_kept_by_owner(to, name))
      throw Error(ErrorKind::denied, printable(path) +
                                         " belongs to another user there, and its "
                                         "directory lets owners alone replace files");
  }

  /// Returns the staging directory from which a rename into `to` works; null for the copy's own.
  /// Throws if `to` cannot be written.
  Staging* way_into(int to, const std::string& path) {
    if (leads(from_, to, path)) return nullptr;
    for (const auto& bridge : bridges_)
      if (leads(bridge->fd(), to, path)) return bridge.get();
    UniqueFd own(::openat(to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own) throw cannot_look(path);
    bridges_.push_back(std::make_unique<Staging>(std::move(own), printable(path), ""));
    return bridges_.back().get();
  }

  /// Tries a rename, because file systems refuse renames for more reasons than different device
  /// numbers.
  static bool leads(int from, int to, const std::string& path) {
    const std::string name = unused_name();
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    if (!UniqueFd(::openat(from, name.c_str(), kNew, S_IRUSR | S_IWUSR)))
      throw system_error("writing into " + printable(path), errno);
    const bool is_moved = ::renameat(from, name.c_str(), to, name.c_str()) == 0;
    const int why = errno;
    ::unlinkat(is_moved ? to : from, name.c_str(), 0);
    if (!is_moved && why != EXDEV) throw system_error("writing into " + printable(path), why);
    return is_moved;
  }

  void take_across(const Move& move) const {
    const auto [parent, name] = split_path(move.path);
    const UniqueFd from = open_below(from_, parent);
    if (!from) throw cannot_look(move.path);
    copy_across(from.get(), name, move.bridge->fd(), move.name_there, printable(move.path));
  }

  void put_in_place(const Move& move) {
    const auto [parent, name] = split_path(move.path);
    if (parent != parent_path_) {
      from_parent_ = open_below(from_, parent);
      to_parent_ = open_below(to_, parent);
      parent_path_ = parent;
    }
    const bool is_across = move.bridge != nullptr;
    const int from = is_across ? move.bridge->fd() : from_parent_.get();
    const std::string& old_name = is_across ? move.name_there : name;
    if (::renameat(from, old_name.c_str(), to_parent_.get(), name.c_str()) != 0)
      throw system_error("putting " + printable(move.path) + " in its place", errno);
  }

  int from_;
  int to_;
  std::vector<Move> moves_;
  std::set<std::string> existing_;
  std::vector<std::unique_ptr<Staging>> bridges_;
  std::optional<std::string> parent_path_;  // The directory that both descriptors have open.
  UniqueFd from_parent_;
  UniqueFd to_parent_;
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
  return Publisher(from, to).run();
}

void finish_directories(int root, const std::vector<DirectoryRecord>& directories,
                        const std::set<std::string>& existing, Rights rights) {
  for (auto record = directories.rbegin(); record != directories.rend(); ++record)
    if (!existing.contains(record->path)) finish_directory(root, *record, rights);
}

}  // namespace fastgpu::transfer
