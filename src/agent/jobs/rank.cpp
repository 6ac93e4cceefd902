// `rank`: runs the program of one rank for the launcher, and writes its output only to the node's
// disk.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/files/disk.hpp"
#include "agent/files/reserved_file.hpp"
#include "agent/jobs/batch_news.hpp"
#include "agent/jobs/blame.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/job_place.hpp"
#include "agent/jobs/job_usage.hpp"
#include "agent/jobs/rank_environment.hpp"
#include "agent/jobs/rank_front.hpp"
#include "agent/jobs/rank_group.hpp"
#include "agent/jobs/rank_logs.hpp"
#include "agent/jobs/rank_run.hpp"
#include "agent/options.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/files.hpp"
#include "agent/protocol/silence.hpp"
#include "agent/read_topology.hpp"
#include "agent/subcommands.hpp"
#include "base/contains.hpp"
#include "base/names.hpp"
#include "base/pipe.hpp"
#include "base/units.hpp"
#include "process/interpreter.hpp"

namespace fastgpu::agent {
namespace {

JobPlan read_plan(const std::filesystem::path& directory, std::vector<std::string> argv) {
  const auto text = read_file(directory / "rank");
  if (!text) throw Error(ErrorKind::usage, directory.string() + " has no plan for ranks");
  JobPlan plan = parse_plan(*text);
  if (!argv.empty()) plan.argv = std::move(argv);
  const auto variables = read_file(directory / kVariables);
  if (!variables)
    throw Error(ErrorKind::usage,
                directory.string() + ": the job has ended, its variables are gone");
  plan.environment = parse_variables(*variables);
  return plan;
}

/// Lets this process, and the program that it starts, use only the rank's CPUs. Returns a remark
/// for the log if the kernel gives it other ones; "" otherwise.
std::string bind_rank(const JobPlan& plan, int rank) {
  const auto place = std::ranges::find(plan.ranks, rank);
  if (plan.cpus.empty() || place == plan.ranks.end()) return "";
  const std::string& wanted = plan.cpus[static_cast<std::size_t>(place - plan.ranks.begin())];
  const int failure = allow_cpus(parse_cpu_list(wanted));
  const std::string found = cpu_list(allowed_cpus());
  if (failure == 0 && found == wanted) return "";
  const std::string name = host_name() + ": rank " + std::to_string(rank);
  if (failure != 0)
    return name + " uses CPUs " + found + ", because it cannot be bound to " + wanted + ": " +
           std::strerror(failure);
  return name + " uses CPUs " + found + " and not " + wanted;
}

/// Returns the supervisor's address for ranks of other nodes; absent for those beside it, and
/// without a supervisor.
std::optional<HeadAddress> head_of(const JobPlan& plan) {
  const char* const text = ::getenv(kJobHead);
  if (text == nullptr || contains(plan.ranks, 0)) return std::nullopt;
  return parse_head_address(text);
}

void make_checkpoint_directory(const JobPlan& plan) {
  if (plan.checkpoints.empty()) return;
  const auto directory = below_home(plan.checkpoints);
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) throw disk_error("making the directory for checkpoints", directory, failure.value());
}

/// Raises the limit of the memory that programs lock, as RDMA adapters need it for messages: away
/// where the node allows that, and else to the hard limit.
void raise_lock_limit() noexcept {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) == 0 || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_MEMLOCK, &limit);
}

/// Starts the program in the group of this process, and leaves the group.
process::Child start_in(std::optional<RankGroup>& group, const process::Command& command) {
  try {
    process::Child child(command);
    if (group) group->leave();
    return child;
  } catch (const Error&) {
    if (group) group->leave();
    throw;
  }
}

/// Throws not_found for a script whose interpreter is missing. Of one that `env` is to find, the
/// kernel reports nothing, and `env` itself names no file.
void check_interpreter(const process::Command& command) {
  const std::string path = process::variable(*command.environment, "PATH").value_or("");
  const auto program = process::find_program(command.argv.front(), path);
  const std::string why = process::missing_interpreter(command.directory / program, path);
  if (!why.empty()) throw Error(ErrorKind::not_found, printable(command.argv.front()) + ": " + why);
}

std::filesystem::path blame_file(const std::filesystem::path& directory, int rank) {
  return directory / "ranks" / (std::to_string(rank) + ".blame");
}

RankEnd run_program(const std::filesystem::path& directory, const JobPlan& plan,
                    const PlaceInJob& place, RankLogs& logs, BatchNews& news,
                    SignalQueue& signals) {
  std::optional<RankInput> input;
  const auto readers = ranks_with_input(plan);
  if (contains(readers, place.rank)) input.emplace(directory, place.rank);
  process::Command command{.argv = plan.argv};
  command.in.mode = process::StreamMode::null;
  if (input) command.in.fd = input->for_program().get();
  command.out.fd = logs.pump ? logs.pump->out().get() : logs.out.get();
  command.err.fd = logs.pump ? logs.pump->err().get() : logs.err.get();
  command.directory = below_home(plan.directory);
  command.environment = rank_environment(directory, plan, place);
  if (place.local_rank == 0) note_comm_folders(directory, plan, *command.environment);
  const auto blame = blame_file(directory, place.rank);
  std::error_code none;
  std::filesystem::remove(blame, none);
  // The workers that the program starts have numbers of their own.
  if (!plan.starts_workers)
    process::set_variable(*command.environment, std::string(kBlameFile) + "=" + blame.string());
  command.grouping = process::Grouping::group;
  command.on_parent_death = process::OnParentDeath::kill;
  make_checkpoint_directory(plan);
  raise_lock_limit();
  check_interpreter(command);
  auto group = RankGroup::enter(directory, plan.id, place.rank);
  process::Child child = start_in(group, command);
  if (input) input->for_program() = UniqueFd();
  if (logs.pump) logs.pump->leave_to_program();
  const auto stem = directory / "ranks" / std::to_string(place.rank);
  IdleWatch idle(plan.hang_timeout, stem, {stem.string() + ".out", stem.string() + ".err"},
                 child.pid());
  UsageSampler sampler(directory);
  RankLease lease(head_of(plan), place.rank);
  FullWatch full(directory / "ranks");
  const RankWatches watches{.input = input ? &*input : nullptr,
                            .clock = logs.clock,
                            .idle = idle,
                            .sampler = sampler,
                            .lease = lease,
                            .full = plan.on_full == OnFull::stop ? &full : nullptr,
                            .news = news};
  RankRun run(std::move(child), plan.grace, watches,
              group ? group->path() : std::filesystem::path());
  RankEnd end = run.run(signals);
  if (!end.told && !end.how.ok()) end.blames = read_blame(blame, place);
  if (lease.has_run_out())
    note_in(logs.err, host_name() + ": rank " + std::to_string(place.rank) +
                          " was ended: the first node of the job did not answer for " +
                          to_string(kRankLease) + "\n");
  return end;
}

/// The home directory of the nodes of a job: one that they share, or one for each.
enum class Home : std::uint8_t { shared, own };

/// Returns true if all ranks that write to this home directory have ended.
bool have_ranks_ended(const std::filesystem::path& directory, const JobPlan& plan, Home home) {
  if (all_ranks_have_ended(directory, plan)) return true;
  if (home == Home::shared) return false;
  const auto here = slurm_ranks_here(plan);
  return here && count_ended_ranks(directory) >= static_cast<std::size_t>(*here);
}

/// Writes the files that the batch script of the job has brought on the standard input.
void take_files() {
  write_files(below_home(".fastgpu"), files_in_script(read_all(STDIN_FILENO, kMostFileBytes)));
}

/// Runs the program of a rank and records its outcome. Returns the exit code.
int run_here(const std::filesystem::path& directory, std::vector<std::string> argv,
             SignalQueue& signals, Front front, const std::optional<std::string>& given_place,
             const std::optional<JobRetention>& retention) {
  const Home home = retention ? Home::own : Home::shared;
  const PlaceInJob place = given_place ? parse_place_in_job(*given_place) : find_place_in_job();
  const JobPlan plan = read_plan(directory, std::move(argv));
  if (retention && place.local_rank == 0 && may_be_untidy(*retention, plan.id))
    tidy_jobs(*retention, plan.id);
  const auto ranks = directory / "ranks";
  make_private_directory(ranks);
  const std::string name = std::to_string(place.rank);
  ReservedFile status(ranks / (name + ".status"));
  RankLogs logs = open_logs(ranks / name, plan.on_full);
  BatchNews news(home == Home::own);
  RankEnd end;
  const std::int64_t began = now_ns();
  try {
    const std::string remark = bind_rank(plan, place.rank);
    if (!remark.empty()) note_in(logs.err, remark + "\n");
    end = run_program(directory, plan, place, logs, news, signals);
  } catch (const Error& e) {
    end.reason = e.what();
    end.how.code = e.kind() == ErrorKind::not_found ? kNotThere : kNotAllowed;
    note_in(logs.err, host_name() + ": " + end.reason + "\n");
  }
  settle_logs(logs);
  end.rank = place.rank;
  end.began = began;
  end.ended = now_ns();
  end.host = host_name();
  if (is_full(ranks) || (logs.pump && logs.pump->has_dropped())) end.full = ranks.string();
  add_last_lines(end, ranks / name, plan);
  status.commit(to_text(end));
  if (!end.how.ok() || end.told || !end.full.empty() || has_output(logs)) news.report();
  if (have_ranks_ended(directory, plan, home)) {
    drop_secrets(directory);
    drop_shared_memory(plan.id);
  }
  wait_for_blamed(ranks, end, signals);
  const int code = end.how.shell_code();
  // The job of a rank that fails does not end well, so that its daemons do not stay.
  const bool may_stay = plan.keeps_processes && !end.told && code == 0;
  if (!may_stay) end_the_rest(end.told, code, front, signals);
  remove_empty_groups(directory, plan.id);
  return code;
}

}  // namespace

int run_rank(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  const auto place = options.take_value("--place");
  std::optional<JobRetention> retention;
  if (const auto text = options.take_value("--own-home")) retention = parse_retention(*text);
  std::vector<std::string> argv;
  if (options.take_flag("--")) argv = options.take_rest();
  options.expect_end();
  if (retention) take_files();
  const UniqueFd lock = lock_folder(directory);
  SignalQueue signals(
      {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, kStopOrder, kLauncherGone});
  const pid_t launcher = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, kLauncherGone);
  Pipe pipe = make_pipe();
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw system_error("starting a rank", errno);
  if (child > 0) {
    pipe.write_end = UniqueFd();
    return stand_for(child, launcher, std::move(pipe.read_end), signals);
  }
  pipe.read_end = UniqueFd();
  outlive(self);
  become_subreaper();
  return run_here(directory, std::move(argv), signals,
                  {.launcher = launcher, .early_code = std::move(pipe.write_end)}, place,
                  retention);
}

}  // namespace fastgpu::agent
