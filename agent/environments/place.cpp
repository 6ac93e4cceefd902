#include "agent/environments/place.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/disk.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// What make_prefix made, a path a record.
fs::path made_list(const EnvironmentPlaces& places) {
  return places.own() / "made";
}

/// Those of `path` and its parents that do not exist, the outermost first.
std::vector<fs::path> missing_of(fs::path path) {
  std::vector<fs::path> missing;
  for (; !fs::exists(path) && path.has_relative_path(); path = path.parent_path())
    missing.insert(missing.begin(), path);
  return missing;
}

void make_open_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return;
  throw system_error("making " + path.string(), errno)
      .during("environments lie there (another place: --prefix)");
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
  for (const fs::path& path : missing_of(places.prefix)) {
    make_open_directory(path);
    made.add("made", path.string());
  }
  make_open_directory(places.own());
  make_open_directory(places.own() / "tools");
  write_atomically(made_list(places), made.text(), 0644);
}

void remove_prefix(const EnvironmentPlaces& places) {
  auto made = Records(read_file(made_list(places)).value_or(""), "the list of made directories")
                  .all("made");
  for (const fs::directory_entry& entry : fs::directory_iterator(places.prefix))
    if (entry.path() != places.own()) fs::remove_all(entry.path());
  fs::remove_all(places.own());
  std::ranges::reverse(made);
  for (const std::string& path : made)
    if (::rmdir(path.c_str()) != 0 && errno != ENOENT) break;  // Something else lies there now.
}

UniqueFd lock_prefix(const EnvironmentPlaces& places) {
  if (auto lock = try_lock(places.own() / "lock")) return std::move(*lock);
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
