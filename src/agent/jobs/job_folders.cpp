#include "agent/jobs/job_folders.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "agent/files/disk.hpp"
#include "agent/jobs/mpi_sessions.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/jobs/rank_group.hpp"
#include "agent/options.hpp"
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

std::vector<EndedJob> ended_jobs(const fs::path& jobs, Time now) {
  const std::set<std::string> running = running_jobs();
  std::vector<EndedJob> ended;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(jobs, none)) {
    if (!entry.is_directory() || entry.is_symlink()) continue;
    if (running.contains(entry.path().filename())) continue;
    try {
      if (const auto when = end_of(entry.path(), now)) ended.push_back({entry.path(), *when});
    } catch (const std::exception&) {
      continue;  // It cannot be read, so that its state is unknown.
    }
  }
  return ended;
}

/// Returns the job or array that a folder is counted with: "sweep-1.3" and "sweep-1.4.r1" are of
/// the array sweep-1, "train-1.r2" is a run of the job train-1.
std::string counted_as(const std::string& folder) {
  return folder.substr(0, folder.find('.'));
}

void tidy(const JobRetention& retention) {
  const fs::path jobs = below_home(kJobs);
  const auto lock = try_lock(jobs.string() + ".lock");
  if (!lock) return;  // Another process is doing this now.
  const Time now = Time::clock::now();
  const auto ended = ended_jobs(jobs, now);
  for (const EndedJob& job : ended)
    drop_secrets(job.directory);
  for (const EndedJob& job : outdated(ended, retention, now)) {
    remove_empty_groups(job.directory, job.directory.filename());
    std::error_code left;
    fs::remove_all(job.directory, left);
    drop_shared_memory(job.directory.filename());
  }
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
  for (const char* name : {kVariables, kCommSecret})
    ::unlink((directory / name).c_str());
}

fs::path shared_memory_of(const std::string& job_id) {
  return "/dev/shm/fastgpu-" + std::to_string(::getuid()) + "-" + job_id;
}

void drop_shared_memory(const std::string& job_id) noexcept {
  std::error_code none;
  fs::remove_all(shared_memory_of(job_id), none);
}

JobRetention parse_retention(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos)
    throw Error(ErrorKind::usage, "--tidy '" + printable(text) + "' is not COUNT:SECONDS");
  return {
      .count = parse_number<std::size_t>(text.substr(0, colon), "--tidy"),
      .age = std::chrono::seconds(parse_number<std::uint32_t>(text.substr(colon + 1), "--tidy"))};
}

std::vector<EndedJob> outdated(std::vector<EndedJob> jobs, const JobRetention& retention,
                               Time now) {
  std::ranges::sort(jobs, std::greater<>(), &EndedJob::ended);
  std::vector<EndedJob> old;
  std::set<std::string> kept;  // The newest jobs and arrays.
  for (const EndedJob& job : jobs) {
    const std::string counted = counted_as(job.directory.filename());
    if (kept.size() < retention.count) kept.insert(counted);
    if (!kept.contains(counted) || now - job.ended > retention.age) old.push_back(job);
  }
  return old;
}

void tidy_jobs(const JobRetention& retention) {
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
    tidy(retention);
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace fastgpu::agent
