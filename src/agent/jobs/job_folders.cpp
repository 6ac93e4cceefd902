#include "agent/jobs/job_folders.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/files/disk.hpp"
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

/// Returns the folders of all jobs here. One that cannot be read counts as that of a job that runs.
std::vector<JobFolder> folders_in(const fs::path& jobs, Time now) {
  const std::set<std::string> running = running_jobs();
  std::vector<JobFolder> folders;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(jobs, none)) {
    if (!entry.is_directory(none) || entry.is_symlink(none)) continue;
    JobFolder& folder = folders.emplace_back(JobFolder{.name = entry.path().filename()});
    if (running.contains(folder.name)) continue;
    try {
      if (const auto when = end_of(entry.path(), now)) folder.ended = nanoseconds_of(*when);
    } catch (const std::exception&) {
      continue;
    }
  }
  return folders;
}

void remove_folder(const fs::path& directory) {
  const std::string name = directory.filename();
  remove_empty_groups(directory, name);
  std::error_code left;
  fs::remove_all(directory, left);
  drop_shared_memory(name);
}

void tidy(const JobRetention& retention, const std::string& starting) {
  const fs::path jobs = below_home(kJobs);
  const auto lock = try_lock(jobs.string() + ".lock");
  if (!lock) return;  // Another process is doing this now.
  const Time now = Time::clock::now();
  auto folders = folders_in(jobs, now);
  for (JobFolder& folder : folders)
    if (folder.name == starting) folder.ended.reset();
  for (const JobFolder& folder : folders)
    if (folder.ended) drop_secrets(jobs / folder.name);
  for (const JobFolder& folder : outdated(folders, retention, nanoseconds_of(now)))
    remove_folder(jobs / folder.name);
}

/// Returns the folders of jobs that a state directory has started.
std::vector<JobFolder> folders_of(const std::string& owner, Time now) {
  const fs::path jobs = below_home(kJobs);
  std::vector<JobFolder> folders = folders_in(jobs, now);
  std::erase_if(folders, [&](const JobFolder& folder) {
    return read_file(jobs / folder.name / kJobOwner) != owner;
  });
  return folders;
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
  for (const auto& entry : fs::directory_iterator(below_home(kJobs), none)) {
    const fs::path& folder = entry.path();
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
  write_all(STDOUT_FILENO,
            to_text(JobFolders{.now = nanoseconds_of(now), .folders = folders_of(owner, now)}));
  return 0;
}

int run_job_discard(Arguments arguments) {
  OptionReader options(arguments);
  const std::string owner = take_owner(options);
  std::vector<JobFolder> unwanted;
  for (const std::string& word : options.take_rest())
    unwanted.push_back(parse_discard_word(word));
  const fs::path jobs = below_home(kJobs);
  const auto lock = try_lock(jobs.string() + ".lock");
  if (!lock) throw Error(ErrorKind::transient, "another command removes folders of jobs now");
  for (const JobFolder& folder : folders_of(owner, Time::clock::now()))
    if (folder.ended && contains(unwanted, folder)) remove_folder(jobs / folder.name);
  return 0;
}

}  // namespace fastgpu::agent
