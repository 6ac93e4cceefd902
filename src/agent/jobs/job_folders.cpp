#include "agent/jobs/job_folders.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/jobs/job_place.hpp"
#include "agent/jobs/mpi_sessions.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/jobs/rank_group.hpp"
#include "agent/options.hpp"
#include "agent/subcommands.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using Time = fs::file_time_type;

constexpr std::chrono::hours kUnstarted{24};

std::optional<JobPlan> plan_in(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return std::nullopt;
  return parse_plan(*text);
}

std::optional<Time> time_of(const fs::path& path) {
  std::error_code none;
  const Time time = fs::last_write_time(path, none);
  if (none) return std::nullopt;
  return time;
}

/// Returns the ids of the jobs that have a process on this node.
std::set<std::string> running_jobs() {
  std::set<std::string> ids;
  const std::string before = '\0' + std::string(kJobMarker) + "=";
  for (const pid_t pid : all_pids()) {
    const std::string environment = '\0' + proc_file(pid, "environ") + '\0';
    const auto at = environment.find(before);
    if (at == std::string::npos) continue;
    const auto begin = at + before.size();
    ids.insert(environment.substr(begin, environment.find('\0', begin) - begin));
  }
  return ids;
}

/// Returns when a job without a process here ended; absent if it may be about to start.
std::optional<Time> recorded_end(const fs::path& directory) {
  if (const auto ended = time_of(directory / "status")) return ended;
  if (const auto stopped = time_of(directory / kStoppedMark)) return stopped;
  if (fs::exists(directory / kBatchScript)) return time_of(directory / kBatchEnd);
  if (fs::exists(directory / "spec"))  // A killed supervisor leaves no status.
    return fs::exists(directory / "started") ? time_of(directory / "started") : std::nullopt;
  return has_begun(directory) ? time_of(directory / "ranks") : std::nullopt;
}

std::optional<Time> end_of(const fs::path& directory, Time now) {
  if (has_supervisor(directory)) return std::nullopt;
  if (const auto ended = recorded_end(directory)) return ended;
  // A job may wait in the queue of a batch system for weeks.
  if (fs::exists(directory / kBatchScript)) return std::nullopt;
  const auto touched = time_of(directory);
  return touched && now - *touched > kUnstarted ? touched : std::nullopt;
}

/// Returns nanoseconds since 1970.
std::int64_t nanoseconds_of(Time time) {
  const auto since = Time::clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

/// The folders of all jobs here, and their paths by their names.
struct FoldersHere {
  std::vector<JobFolder> folders{};
  std::map<std::string, fs::path> paths{};

  const fs::path& path_of(const JobFolder& folder) const { return paths.at(folder.name); }
};

/// Looks at the folders of all jobs here. One that cannot be read counts as that of a job that
/// runs.
FoldersHere look_at_folders(Time now) {
  const std::set<std::string> running = running_jobs();
  FoldersHere here;
  for (const fs::path& path : job_folders_here()) {
    const std::string name = path.filename();
    if (!here.paths.emplace(name, path).second) continue;
    JobFolder& folder = here.folders.emplace_back(JobFolder{.name = name});
    if (running.contains(name)) continue;
    try {
      if (const auto when = end_of(path, now)) folder.ended = nanoseconds_of(*when);
    } catch (const std::exception&) {
      continue;
    }
  }
  return here;
}

/// Frees what the system keeps for a job that has ended.
void free_resources(const fs::path& directory) {
  const std::string name = directory.filename();
  remove_empty_groups(directory, name);
  drop_shared_memory(name);
}

/// Takes the lock of those that remove folders; absent if another process removes some. Hosts that
/// share a home directory take turns.
std::optional<UniqueFd> lock_folders() {
  return try_lock(below_home(kJobs).string() + ".lock");
}

void tidy(const JobRetention& retention, const std::string& starting) {
  const auto lock = lock_folders();
  if (!lock) return;
  const Time now = Time::clock::now();
  FoldersHere here = look_at_folders(now);
  for (JobFolder& folder : here.folders)
    if (folder.name == starting) folder.ended.reset();
  for (const JobFolder& folder : here.folders)
    if (folder.ended) drop_secrets(here.path_of(folder));
  for (const JobFolder& folder : outdated(here.folders, retention, nanoseconds_of(now))) {
    free_resources(here.path_of(folder));
    remove_folder_here(here.path_of(folder));
  }
  remove_old_links();
}

/// Returns the folders of jobs that a state directory has started.
FoldersHere folders_of(const std::string& owner, Time now) {
  FoldersHere here = look_at_folders(now);
  std::erase_if(here.folders, [&](const JobFolder& folder) {
    return read_file(here.path_of(folder) / kJobOwner) != owner;
  });
  return here;
}

std::string take_owner(OptionReader& options) {
  std::string owner = options.take_word("the owner");
  if (owner.empty()) throw Error(ErrorKind::usage, "the owner is empty");
  return owner;
}

}  // namespace

std::optional<JobPlan> any_plan(const fs::path& directory) {
  for (const char* name : {"spec", "rank"})
    if (auto plan = plan_in(directory / name)) return plan;
  return std::nullopt;
}

bool has_supervisor(const fs::path& directory) {
  return read_file(directory / "started") && !try_lock(directory / "lock");
}

bool has_begun(const fs::path& directory) {
  std::error_code none;
  const auto ranks = fs::directory_iterator(directory / "ranks", none);
  return std::ranges::any_of(
      ranks, [](const fs::directory_entry& log) { return log.path().extension() == ".out"; });
}

bool all_ranks_have_ended(const fs::path& directory, const JobPlan& ranks) {
  return std::ranges::all_of(ranks.ranks, [&](int rank) {
    return fs::exists(directory / "ranks" / (std::to_string(rank) + ".status"));
  });
}

std::size_t count_ended_ranks(const fs::path& directory) {
  std::error_code none;
  const auto files = fs::directory_iterator(directory / "ranks", none);
  return static_cast<std::size_t>(std::ranges::count_if(
      files, [](const fs::directory_entry& file) { return file.path().extension() == ".status"; }));
}

void drop_secrets(const fs::path& directory) noexcept {
  for (const char* name : {kVariables, kCommSecret, kBatchFiles, kWholeBatchScript})
    ::unlink((directory / name).c_str());
}

fs::path shared_memory_of(const std::string& job_id) {
  return "/dev/shm/fastgpu-" + std::to_string(::getuid()) + "-" + job_id;
}

void drop_shared_memory(const std::string& job_id) noexcept {
  std::error_code none;
  fs::remove_all(shared_memory_of(job_id), none);
}

bool may_be_untidy(const JobRetention& retention, const std::string& starting) {
  const Time oldest = Time::clock::now() - retention.age;
  std::size_t count = 0;
  std::error_code none;
  for (const fs::path& folder : job_folders_here()) {
    if (folder.filename() == starting) continue;
    const auto touched = time_of(folder);
    if (!touched || *touched < oldest || fs::exists(folder / kVariables, none)) return true;
    if (++count > retention.count) return true;
  }
  return false;
}

void tidy_jobs(const JobRetention& retention, const std::string& starting) {
  const pid_t child = ::fork();
  if (child < 0) return;  // The next job does it.
  if (child > 0) {
    ::waitpid(child, nullptr, 0);
    return;
  }
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd)
    ::dup2(null.get(), fd);
  try {
    drop_dead_sessions();
    tidy(retention, starting);
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

int run_job_folders(Arguments arguments) {
  OptionReader options(arguments);
  const std::string owner = take_owner(options);
  options.expect_end();
  const Time now = Time::clock::now();
  write_all(STDOUT_FILENO, to_text(JobFolders{.now = nanoseconds_of(now),
                                              .folders = folders_of(owner, now).folders}));
  return 0;
}

int run_job_discard(Arguments arguments) {
  OptionReader options(arguments);
  const std::string owner = take_owner(options);
  std::vector<JobFolder> unwanted;
  for (const std::string& word : options.take_rest())
    unwanted.push_back(parse_discard_word(word));
  const auto lock = lock_folders();
  if (!lock) throw Error(ErrorKind::transient, "another command removes folders of jobs now");
  const FoldersHere here = folders_of(owner, Time::clock::now());
  std::optional<Error> failure;  // The others are removed, too.
  for (const JobFolder& folder : here.folders) {
    if (!folder.ended || !contains(unwanted, folder)) continue;
    free_resources(here.path_of(folder));
    const fs::path path = below_home(kJobs) / folder.name;
    if (const auto left = remove_job_folder(path); left && !failure)
      failure = system_error("removing " + path.string(), left.value());
  }
  if (failure) throw Error(*failure);
  return 0;
}

}  // namespace fastgpu::agent
