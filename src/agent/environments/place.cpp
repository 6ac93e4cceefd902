#include "agent/environments/place.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <thread>

#include "agent/files/disk.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenTries{20};
constexpr std::string_view kMade = "made.";

/// Returns the file that lists the directories that make_prefix() has created on this node.
fs::path made_list(const EnvironmentPlaces& places) {
  return places.own() / (std::string(kMade) + host_name());
}

/// Returns the directories that were created on any node, from the innermost one on.
std::vector<std::string> all_made(const EnvironmentPlaces& places) {
  std::vector<std::string> made;
  for (const fs::directory_entry& entry : fs::directory_iterator(places.own())) {
    if (!entry.path().filename().string().starts_with(kMade)) continue;
    const Records list(read_file(entry.path()).value_or(""), "the list of made directories");
    std::ranges::move(list.all("made"), std::back_inserter(made));
  }
  std::ranges::sort(made, std::ranges::greater{}, &std::string::size);
  return made;
}

/// Returns the missing directories among `path` and its parents, from the outermost one on.
std::vector<fs::path> missing_of(fs::path path) {
  std::vector<fs::path> missing;
  for (; !fs::exists(path) && path.has_relative_path(); path = path.parent_path())
    missing.insert(missing.begin(), path);
  return missing;
}

fs::path lock_file(const EnvironmentPlaces& places) {
  return places.own() / "lock";
}

/// Returns the path beside `path` at which its replacement is assembled.
fs::path making_of(const fs::path& path) {
  return path.parent_path() / (".fastgpu-making." + path.filename().string() + "." + host_name());
}

/// Returns the path, beside `path`, of the list of directories that a removal deletes. `path` is
/// the outermost of them.
fs::path removing_of(const fs::path& path) {
  return path.parent_path() / (".fastgpu-removing." + path.filename().string());
}

/// Returns true if the file is ours. In a shared directory other users can create such names.
bool is_ours(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && may_be_ours(status.st_uid);
}

[[noreturn]] void throw_not_made(const fs::path& path) {
  throw system_error("making " + path.string(), errno)
      .during("environments are made there (another place: --prefix)");
}

void make_lock(const fs::path& lock) {
  if (!UniqueFd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)))
    throw system_error("making " + lock.string(), errno);
}

/// Assembles all missing directories beside their place and makes them visible at once, so that a
/// killed process leaves none. Does nothing if another node that shares the place was faster.
void make_at_once(const EnvironmentPlaces& places) {
  const auto missing = missing_of(places.own());
  const fs::path& outermost = missing.front();
  const fs::path making = making_of(outermost);
  const auto moved = [&](const fs::path& path) {
    return fs::path(making.string() + path.string().substr(outermost.string().size()));
  };
  if (is_ours(making)) fs::remove_all(making);
  Records made;
  for (const fs::path& path : missing) {
    if (::mkdir(moved(path).c_str(), 0755) != 0) throw_not_made(path);
    if (path != places.own()) made.add("made", path.string());
  }
  if (::mkdir(moved(places.own() / "tools").c_str(), 0755) != 0) throw_not_made(places.own());
  make_lock(moved(lock_file(places)));
  write_atomically(moved(made_list(places)), made.text(), 0644);
  fault_point("env-place-made");
  if (::rename(making.c_str(), outermost.c_str()) == 0) return;
  if (errno != EEXIST && errno != ENOTEMPTY) throw_not_made(outermost);
  fs::remove_all(making);
}

/// Removes the directories in `made`, from the innermost one on. Stops at a directory that has
/// other content.
void remove_made(const std::vector<std::string>& made) {
  for (const std::string& path : made)
    if (::rmdir(path.c_str()) != 0 && errno != ENOENT) break;
}

void remove_below(const fs::path& directory, const fs::path& kept) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.path() != kept) fs::remove_all(entry.path());
}

/// Returns the lock; absent if another process holds it. Never creates the lock's file, so that a
/// place that another node has just removed stays removed.
std::optional<UniqueFd> try_lock_of(const EnvironmentPlaces& places) {
  const fs::path path = lock_file(places);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno != ENOENT) throw system_error("opening " + path.string(), errno);
  struct stat status {};
  if (file && ::fstat(file.get(), &status) == 0 &&
      (!S_ISREG(status.st_mode) || !may_be_ours(status.st_uid)))
    throw Error(ErrorKind::denied, places.own().string() +
                                       " belongs to another user: environments are made in a "
                                       "place of one's own (--prefix)");
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    throw system_error("locking " + path.string(), errno);
  }
  const bool is_gone = !file || ::fstat(file.get(), &status) != 0 || status.st_nlink == 0;
  if (is_gone)
    throw Error(ErrorKind::not_found, "there are no environments in " + places.prefix.string());
  return file;
}

/// Returns true if the directory is a build, or a part of one that an interrupted copy has kept. An
/// incomplete build has only its name.
bool is_build(const fs::path& directory) {
  constexpr std::size_t kVersionDigits = 12;  // See version_of() of locks.
  const std::string name = directory.filename();
  const bool is_version = name.size() == kVersionDigits &&
                          name.find_first_not_of("0123456789abcdef") == std::string::npos;
  std::error_code failure;
  return is_version || name.starts_with(".fastgpu-copy") ||
         fs::exists(manifest_of(directory), failure);
}

/// Returns true if make_prefix() has created the directory of the prefix, maybe before a removal
/// that was killed.
bool has_made_prefix(const EnvironmentPlaces& places) {
  if (contains(all_made(places), places.prefix.string())) return true;
  for (fs::path path = places.prefix; path.has_relative_path(); path = path.parent_path()) {
    const auto text = is_ours(removing_of(path)) ? read_file(removing_of(path)) : std::nullopt;
    const Records list(text.value_or(""), "the list of made directories");
    if (contains(list.all("made"), places.prefix.string())) return true;
  }
  return false;
}

/// Removes the environments. Keeps everything else if the directory existed before them.
void remove_environments(const EnvironmentPlaces& places) {
  const bool is_made = has_made_prefix(places);
  for (const fs::directory_entry& entry : fs::directory_iterator(places.prefix))
    if (entry.path() != places.own() && (is_made || is_environment(entry.path())))
      fs::remove_all(entry.path());
}

}  // namespace

EnvironmentPlaces places_at(const std::string& prefix) {
  const fs::path usual =
      ::geteuid() == 0 ? fs::path("/opt/fastgpu/envs") : below_home(".fastgpu/envs");
  return {(prefix.empty() ? usual : below_home(prefix)).lexically_normal()};
}

void make_prefix(const EnvironmentPlaces& places) {
  while (!fs::exists(places.own()))
    make_at_once(places);
}

bool is_environment(const fs::path& directory) {
  std::error_code failure;
  if (!fs::is_directory(fs::symlink_status(directory, failure))) return false;
  if (!link_target(directory / "current").empty()) return true;
  const fs::directory_iterator entries(directory, failure);
  return std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
    std::error_code unreadable;
    return fs::is_directory(entry.symlink_status(unreadable)) && is_build(entry.path());
  });
}

void remove_prefix(const EnvironmentPlaces& places) {
  remove_environments(places);
  const auto made = all_made(places);
  if (!made.empty()) {  // The list must survive the removal of the prefix.
    Records list;
    for (const std::string& path : made)
      list.add("made", path);
    write_atomically(removing_of(made.back()), list.text(), 0644);
  }
  // The lock's file is removed last, so that a killed removal can be resumed.
  remove_below(places.own(), lock_file(places));
  fs::remove_all(places.own());
  fault_point("env-place-emptied");
  remove_remains(places);
}

void remove_remains(const EnvironmentPlaces& places) {
  // Succeeds if the directory is empty. Another node may remove it at the same time.
  ::rmdir(places.own().c_str());
  for (fs::path path = places.own(); path.has_relative_path(); path = path.parent_path()) {
    if (is_ours(making_of(path))) fs::remove_all(making_of(path));
    const auto text = is_ours(removing_of(path)) ? read_file(removing_of(path)) : std::nullopt;
    if (!text) continue;
    remove_made(Records(*text, "the list of made directories").all("made"));
    fs::remove(removing_of(path));
  }
}

UniqueFd lock_prefix(const EnvironmentPlaces& places, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  do {
    if (auto lock = try_lock_of(places)) return std::move(*lock);
    if (timeout > kBetweenTries) std::this_thread::sleep_for(kBetweenTries);
  } while (std::chrono::steady_clock::now() < deadline);
  throw Error(ErrorKind::conflict, "another fastgpu changes the environments in " +
                                       places.prefix.string() + " on " + host_name() +
                                       ": wait for it, or end it");
}

void switch_link(const fs::path& link, const std::string& target) {
  const std::string fresh = link.string() + ".new";
  fs::remove(fresh);  // A leftover of a killed call.
  if (::symlink(target.c_str(), fresh.c_str()) != 0) throw system_error("making " + fresh, errno);
  if (::rename(fresh.c_str(), link.c_str()) != 0)
    throw system_error("making " + link.string(), errno);
}

std::string link_target(const fs::path& link) {
  std::error_code failure;
  const fs::path target = fs::read_symlink(link, failure);
  return failure ? "" : target.string();
}

}  // namespace fastgpu::agent
