#include "agent/jobs/job_place.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "agent/files/disk.hpp"
#include "agent/protocol/plan.hpp"
#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// Programs that tidy up /var/tmp remove what is older. So do we: no host has the job any more.
constexpr std::chrono::days kOldLink{30};
constexpr std::chrono::milliseconds kWriteTime{300};
constexpr std::chrono::milliseconds kBetweenWriteLooks{10};

/// The beginning of the name of a place on the disk of a host.
std::string own_prefix() {
  return "/var/tmp/fastgpu-" + std::to_string(::geteuid()) + "-";
}

/// Returns the place on the disk of each host; absent if none has been chosen. Throws local if the
/// file has something else.
std::optional<fs::path> own_place() {
  const fs::path file = below_home(kOwnPlace);
  auto text = read_file(file);
  if (!text) return std::nullopt;
  if (text->ends_with('\n')) text->pop_back();
  const std::string prefix = own_prefix();
  if (text->starts_with(prefix) && is_hex(text->substr(prefix.size()))) return fs::path(*text);
  throw Error(ErrorKind::local, file.string() + " is damaged: remove it");
}

/// Chooses a place, unless another host has done so: the first one that links its file has chosen.
fs::path choose_own_place() {
  constexpr std::size_t kRandomBytes = 16;
  const fs::path file = below_home(kOwnPlace);
  const fs::path draft = file.string() + "." + random_hex(kRandomBytes);
  write_atomically(draft, own_prefix() + random_hex(kRandomBytes) + "\n");
  const int linked = ::link(draft.c_str(), file.c_str());
  const int error = errno;
  ::unlink(draft.c_str());
  if (linked != 0 && error != EEXIST) throw system_error("making " + file.string(), error);
  if (auto place = own_place()) return *place;
  throw Error(ErrorKind::transient, file.string() + " has just been removed");
}

/// Returns true for a directory that other users can neither have made nor write to.
bool is_private_to_us(const fs::path& place) {
  struct stat status {};
  return ::lstat(place.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/// Makes the place, which is below a directory where all users may make files.
void require_own(const fs::path& place) {
  const std::string doing = "making " + place.string() +
                            ", where jobs have their files because hosts share the home directory";
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) throw system_error(doing, errno);
  if (!is_private_to_us(place))
    throw Error(ErrorKind::denied, doing + ": it is another user's, or open to others: remove it");
}

/// Returns the place on the disk of this host, if this host has it.
std::optional<fs::path> place_here() {
  auto place = own_place();
  if (place && !is_private_to_us(*place)) place.reset();
  return place;
}

/// Makes the directory that a link of a job leads to. Returns false if it is there.
bool make_linked(const fs::path& place, const fs::path& target) {
  require_own(place);
  make_private_directory(target.parent_path());
  if (::mkdir(target.c_str(), 0700) == 0) return true;
  if (errno != EEXIST) throw system_error("making the directory " + target.string(), errno);
  return false;
}

/// Returns where the folder of a job is on the disk of a host.
fs::path on_own_disk(const fs::path& place, const fs::path& folder) {
  return place / "jobs" / folder.filename();
}

/// Returns true if the folder has a job, whose files would be replaced. Another host may have
/// written them just now: opening a directory makes NFS ask the server.
bool has_job(const fs::path& folder) {
  const UniqueFd fresh(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fs::exists(folder / "rank");
}

/// Calls `is_so` until it returns true, for the time in which another host writes its files.
template <typename Condition>
bool becomes_true(const Condition& is_so) {
  for (auto waited = std::chrono::milliseconds(0); waited < kWriteTime;
       waited += kBetweenWriteLooks) {
    if (is_so()) return true;
    std::this_thread::sleep_for(kBetweenWriteLooks);
  }
  return false;
}

/// Returns what a folder is that was there before.
NewFolder found_folder(const fs::path& folder, const std::string& secret) {
  // A start that was cut short leaves one without a job.
  if (!becomes_true([&] { return has_job(folder); })) return NewFolder::made;
  const auto is_this_job = [&] { return read_file(folder / kCommSecret) == secret; };
  return !secret.empty() && becomes_true(is_this_job) ? NewFolder::shared : NewFolder::taken;
}

NewFolder make_on_own_disk(const fs::path& place, const fs::path& folder,
                           const std::string& secret) {
  const fs::path target = on_own_disk(place, folder);
  if (::symlink(target.c_str(), folder.c_str()) != 0 && errno != EEXIST)
    throw system_error("making the link " + folder.string(), errno);
  std::error_code is_no_link;
  if (fs::read_symlink(folder, is_no_link) != target) return NewFolder::taken;
  if (make_linked(place, target)) return NewFolder::made;
  const NewFolder found = found_folder(target, secret);
  if (found != NewFolder::shared) return found;
  throw Error(ErrorKind::conflict,
              "another node of the job has the same home directory, " +
                  folder.parent_path().parent_path().parent_path().string() +
                  ", and the same /var/tmp: is one machine in the cluster under two names?");
}

void add_directories(const fs::path& directory, std::vector<fs::path>& into) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none))
    if (entry.is_directory(none) && !entry.is_symlink(none)) into.push_back(entry.path());
}

}  // namespace

NewFolder make_job_folder(const fs::path& folder, const std::string& secret, FolderPlace place) {
  make_private_directory(folder.parent_path());
  const auto own = place == FolderPlace::own_disk ? std::optional(choose_own_place()) : own_place();
  if (own) return make_on_own_disk(*own, folder, secret);
  if (::mkdir(folder.c_str(), 0700) == 0) return NewFolder::made;
  if (errno != EEXIST) throw system_error("making the directory " + folder.string(), errno);
  return found_folder(folder, secret);
}

void require_job_folder(const fs::path& folder) {
  const auto own = fs::is_symlink(folder) ? own_place() : std::nullopt;
  if (own && fs::read_symlink(folder) == on_own_disk(*own, folder))
    make_linked(*own, on_own_disk(*own, folder));
  make_private_directory(folder);
}

std::vector<fs::path> job_folders_here() {
  std::vector<fs::path> folders;
  add_directories(below_home(kJobs), folders);
  if (const auto own = place_here()) add_directories(*own / "jobs", folders);
  return folders;
}

fs::path folder_here(const fs::path& folder) {
  const auto own = place_here();
  const fs::path on_disk = own ? on_own_disk(*own, folder) : fs::path();
  return own && fs::exists(on_disk) ? on_disk : folder;
}

UniqueFd lock_folder(const fs::path& folder) noexcept {
  UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::flock(directory.get(), LOCK_SH | LOCK_NB) != 0) return {};
  return directory;
}

std::error_code remove_job_folder(const fs::path& folder) {
  std::error_code left;
  fs::remove_all(folder_here(folder), left);
  if (!left) fs::remove_all(folder, left);  // Removes a link, not what it leads to.
  return left;
}

void remove_folder_here(const fs::path& here) noexcept {
  std::error_code left;
  fs::remove_all(here, left);
}

void remove_old_links() noexcept try {
  const auto own = own_place();
  if (!own) return;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(below_home(kJobs), none)) {
    if (!entry.is_symlink(none) || fs::exists(entry.path(), none)) continue;
    struct stat status {};
    if (::lstat(entry.path().c_str(), &status) != 0) continue;
    const auto made = std::chrono::system_clock::from_time_t(status.st_mtime);
    if (std::chrono::system_clock::now() - made > kOldLink) ::unlink(entry.path().c_str());
  }
} catch (const std::exception&) {
  return;  // The next job tries again.
}

}  // namespace fastgpu::agent
