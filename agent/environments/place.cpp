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

#include "agent/disk.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenTries{20};
constexpr std::string_view kMade = "made.";

/// What make_prefix made on this node, a path a record.
fs::path made_list(const EnvironmentPlaces& places) {
  return places.own() / (std::string(kMade) + host_name());
}

/// What it made on any node, the innermost first.
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

/// Those of `path` and its parents that do not exist, the outermost first.
std::vector<fs::path> missing_of(fs::path path) {
  std::vector<fs::path> missing;
  for (; !fs::exists(path) && path.has_relative_path(); path = path.parent_path())
    missing.insert(missing.begin(), path);
  return missing;
}

/// Whether it was not there.
bool make_open_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0755) == 0) return true;
  if (errno == EEXIST) return false;
  throw system_error("making " + path.string(), errno)
      .during("environments lie there (another place: --prefix)");
}

void remove_below(const fs::path& directory, const fs::path& kept) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.path() != kept) fs::remove_all(entry.path());
}

fs::path lock_file(const EnvironmentPlaces& places) {
  return places.own() / "lock";
}

/// Absent where another holds it. Not made here: a place that another node removes just now stays
/// removed.
std::optional<UniqueFd> try_lock_of(const EnvironmentPlaces& places) {
  const fs::path path = lock_file(places);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file && errno != ENOENT) throw system_error("opening " + path.string(), errno);
  struct stat status {};
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    throw system_error("locking " + path.string(), errno);
  }
  const bool is_gone = !file || ::fstat(file.get(), &status) != 0 || status.st_nlink == 0;
  if (is_gone)
    throw Error(ErrorKind::not_found, "there are no environments in " + places.prefix.string());
  return file;
}

}  // namespace

EnvironmentPlaces places_at(const std::string& prefix) {
  const fs::path usual =
      ::geteuid() == 0 ? fs::path("/opt/fastgpu/envs") : below_home(".fastgpu/envs");
  return {(prefix.empty() ? usual : below_home(prefix)).lexically_normal()};
}

void make_prefix(const EnvironmentPlaces& places) {
  if (fs::exists(made_list(places))) return;
  Records made;
  for (const fs::path& path : missing_of(places.prefix))
    if (make_open_directory(path)) made.add("made", path.string());
  make_open_directory(places.own());
  make_open_directory(places.own() / "tools");
  const fs::path lock = lock_file(places);
  if (!UniqueFd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)))
    throw system_error("making " + lock.string(), errno);
  write_atomically(made_list(places), made.text(), 0644);
}

void remove_prefix(const EnvironmentPlaces& places) {
  const auto made = all_made(places);
  remove_below(places.prefix, places.own());
  remove_below(places.own(), lock_file(places));  // The lock is last: who is killed can go on.
  fs::remove_all(places.own());
  for (const std::string& path : made)
    if (::rmdir(path.c_str()) != 0 && errno != ENOENT) break;  // Something else lies there now.
}

UniqueFd lock_prefix(const EnvironmentPlaces& places, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  do {
    if (auto lock = try_lock_of(places)) return std::move(*lock);
    if (patience > kBetweenTries) std::this_thread::sleep_for(kBetweenTries);
  } while (std::chrono::steady_clock::now() < deadline);
  throw Error(ErrorKind::conflict, "another fastgpu changes the environments in " +
                                       places.prefix.string() + " on " + host_name() +
                                       ": wait for it, or end it");
}

void switch_link(const fs::path& link, const std::string& target) {
  const std::string fresh = link.string() + ".new." + std::to_string(::getpid());
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
