// `job-stop`, `job-sweep`, `job-remove`: stop and remove jobs.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "agent/files/disk.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/job_place.hpp"
#include "agent/jobs/mpi_sessions.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/jobs/rank_group.hpp"
#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/subcommands.hpp"
#include "base/counted.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The time that mpirun and its daemons need to end after their last rank.
constexpr milliseconds kAfterLastRank{3'000};

ProcessGroup members_of(const std::string& id) {
  return {.marker = std::string(kJobMarker) + "=" + id};
}

int report_left(std::size_t left, const std::string& id) {
  if (left == 0) return 0;
  throw Error(ErrorKind::local, host_name() + ": " + counted(left, "process") + " of job " + id +
                                    " do not end, even by SIGKILL");
}

bool supervisor_ends_within(const std::filesystem::path& directory, milliseconds limit) {
  const auto deadline = SteadyClock::now() + limit;
  while (has_supervisor(directory)) {
    if (SteadyClock::now() >= deadline) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

/// Signals the supervisor. It signals its launcher, which ends all ranks on all nodes.
void ask_supervisor(const std::filesystem::path& directory, milliseconds grace) {
  const auto pid = parse_number<pid_t>(read_file(directory / "started").value_or(""), "process");
  ::kill(pid, SIGTERM);
  supervisor_ends_within(directory, grace);
}

/// Notes the first order to stop, which prevents a start that is still in progress. On a full disk
/// a running job can still be stopped.
void mark_stopped(const std::filesystem::path& directory) try {
  if (!std::filesystem::exists(directory / kStoppedMark)) touch(directory / kStoppedMark);
} catch (const Error&) {
  if (!has_supervisor(directory)) throw;
}

/// Returns the grace for programs of a job whose folder may be missing or unreadable.
milliseconds grace_of(const std::filesystem::path& directory) try {
  const auto plan = any_plan(directory);
  return plan ? plan->grace : JobPlan().grace;
} catch (const Error&) {
  return JobPlan().grace;
}

milliseconds seconds_of(const std::string& text) {
  const auto seconds = parse_number<int>(text, "--kill-after");
  if (seconds < 0 || seconds > 3'600)
    throw Error(ErrorKind::usage, "--kill-after " + text + " is not within 0 to 3600 seconds");
  return std::chrono::seconds(seconds);
}

}  // namespace

int run_job_stop(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  std::optional<milliseconds> limit;
  if (const auto text = options.take_value("--kill-after")) limit = seconds_of(*text);
  options.expect_end();
  require_job_folder(directory);
  mark_stopped(directory);
  const auto plan = any_plan(directory);
  if (!plan) return 0;  // It was removed or never existed, so that it does not run.
  const milliseconds grace = limit.value_or(plan->grace + kAfterLastRank);
  const bool supervised = has_supervisor(directory);
  if (supervised) ask_supervisor(directory, grace);
  const auto left =
      end_processes(members_of(plan->id), supervised ? milliseconds(0) : grace, nullptr);
  end_groups(directory, plan->id);
  if (supervised) supervisor_ends_within(directory, milliseconds(3'000));
  drop_secrets(directory);
  drop_shared_memory(plan->id);
  drop_dead_sessions();
  return report_left(left, plan->id);
}

int run_job_sweep(Arguments arguments) {
  OptionReader options(arguments);
  const std::string id = options.take_word("the job's id");
  options.expect_end();
  if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.'))
    throw Error(ErrorKind::usage, "'" + printable(id) + "' is not the id of a job");
  const auto directory = below_home(kJobs) / id;
  const ProcessGroup members = members_of(id);
  // An order makes the agents of ranks end their programs in time. What no agent ends is killed.
  if (order_ranks(members.marker) > 0)
    wait_for_end(members, grace_of(directory) + kAfterLastRank, nullptr);
  const auto left = end_processes(members, milliseconds(0), nullptr);
  end_groups(directory, id);
  drop_secrets(directory);
  drop_shared_memory(id);
  drop_dead_sessions();
  return report_left(left, id);
}

int run_job_remove(Arguments arguments) {
  OptionReader options(arguments);
  const auto folder = below_home(options.take_word("the job's directory"));
  options.expect_end();
  const auto here = folder_here(folder);
  if (std::filesystem::exists(here)) {
    if (!any_plan(here) && !std::filesystem::exists(here / kStoppedMark))
      throw Error(ErrorKind::usage, here.string() + " is not the directory of a job");
    if (has_supervisor(here))
      throw Error(ErrorKind::usage, "the job in " + here.string() + " is running: stop it first");
  }
  if (const auto left = remove_job_folder(folder))
    throw system_error("removing " + folder.string(), left.value());
  return 0;
}

}  // namespace fastgpu::agent
