// `rank`: runs the program of one rank for the launcher, and writes its output only to the node's
// disk. There are two processes: the launcher sees the first one, which only passes on signals. The
// second one runs the program, and outlives the first one while the program ends.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "agent/files/disk.hpp"
#include "agent/files/reserved_file.hpp"
#include "agent/jobs/blame.hpp"
#include "agent/jobs/full_watch.hpp"
#include "agent/jobs/idle_watch.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/job_usage.hpp"
#include "agent/jobs/last_lines.hpp"
#include "agent/jobs/log_pump.hpp"
#include "agent/jobs/log_times.hpp"
#include "agent/jobs/memory_events.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/jobs/rank_environment.hpp"
#include "agent/jobs/rank_group.hpp"
#include "agent/jobs/rank_input.hpp"
#include "agent/jobs/rank_lease.hpp"
#include "agent/jobs/usage_sampler.hpp"
#include "agent/options.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/silence.hpp"
#include "agent/protocol/status.hpp"
#include "agent/read_topology.hpp"
#include "agent/signals.hpp"
#include "agent/subcommands.hpp"
#include "base/contains.hpp"
#include "base/pipe.hpp"
#include "base/secret_text.hpp"
#include "base/units.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The signal to the first process when its launcher has gone. It is not SIGTERM, because the
/// kernel also sends it when only a thread of the launcher ends.
constexpr int kLauncherGone = SIGWINCH;
constexpr int kLookEvery = 100;  ///< Milliseconds between two checks for the end of the job.

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

/// The time that a blamed rank has to end by itself before the launcher learns that this rank has
/// ended, and ends all others: the exit code and the last lines of the blamed one are those that
/// matter. Programs with large libraries take seconds for their end.
constexpr milliseconds kTimeForBlamed{5'000};

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

/// The parts of a rank that are looked after while its program runs.
struct RankWatches {
  RankInput* input = nullptr;  ///< Null for a rank without input.
  LogClock& clock;
  IdleWatch& idle;
  UsageSampler& sampler;
  RankLease& lease;
  FullWatch* full = nullptr;  ///< Null if a full disk does not end the program.
};

class RankRun {
 public:
  /// `child` leads a group of its own.
  RankRun(process::Child child, milliseconds grace, const RankWatches& watches,
          const std::filesystem::path& group)
      : memory_(group),
        child_(child.pid()),
        reaper_(child.pid()),
        grace_(grace),
        watches_(watches) {
    child.release();  // The reaper takes its status, among those of adopted orphans.
  }

  /// Runs until the program has ended, and passes on signals.
  RankEnd run(SignalQueue& signals) {
    RankEnd end;
    for (;;) {
      reaper_.reap();
      if (reaper_.ended()) {
        end.how = *reaper_.ended();
        const bool was_killed = end.how.signal == SIGKILL && !end.told;
        end.out_of_memory = was_killed && memory_.has_killed();
        watches_.clock.finish();
        if (is_ended_by_full_disk_) blame_disk(end);
        return end;
      }
      if (SteadyClock::now() >= kill_at_) signal_program(SIGKILL);
      if (watches_.lease.has_run_out()) pass_on(SIGTERM, end);
      RankInput* const input = watches_.input;
      pollfd fds[] = {{signals.fd(), POLLIN, 0},
                      {input != nullptr ? input->end_fd() : -1, POLLIN, 0},
                      {watches_.clock.fd(), POLLIN, 0},
                      watches_.lease.wanted()};
      ::poll(fds, 4, end.told ? 20 : nap());
      look(end);
      if (input != nullptr && fds[1].revents != 0) input->end();
      // If the program has ended by now, it ended by itself, even if signals have arrived
      // meanwhile.
      reaper_.reap();
      if (reaper_.ended()) continue;
      while (const auto number = signals.next())
        pass_on(*number, end);
    }
  }

 private:
  /// Returns for how many milliseconds poll() may wait.
  int nap() const {
    int shortest = watches_.sampler.wait();
    const int full = watches_.full != nullptr ? watches_.full->wait() : -1;
    for (const int wait :
         {watches_.clock.wait(), watches_.idle.wait(), watches_.lease.wait(), full})
      if (wait >= 0) shortest = std::min(shortest, wait);
    return shortest;
  }

  void look(RankEnd& end) {
    watches_.clock.look();
    watches_.idle.look();
    watches_.sampler.look();
    if (end.told) return;
    watches_.lease.look();
    if (watches_.full == nullptr || !watches_.full->look()) return;
    pass_on(SIGTERM, end);
    is_ended_by_full_disk_ = true;
  }

  /// Makes the rank the cause of the end of its job.
  static void blame_disk(RankEnd& end) {
    end.told = false;
    end.how = {.code = kNoRoom};
    end.reason = "ended because its disk is full (--on-full stop)";
  }

  void pass_on(int number, RankEnd& end) {
    if (number == SIGCHLD || number == kLauncherGone) return;
    const bool ends = number != SIGUSR1 && number != SIGUSR2;
    if (ends && end.told) return;  // The launcher repeats its order when it ends.
    signal_program(number == kStopOrder ? SIGTERM : number);
    if (!ends) return;
    for (const pid_t pid : find_processes({.descendants = Descendants::included}))
      if (pid != child_ && ::getpgid(pid) != child_) ::kill(pid, SIGTERM);
    end.told = true;
    kill_at_ = SteadyClock::now() + grace_;
  }

  void signal_program(int number) const {
    ::kill(-child_, number);
    if (::getpgid(child_) != child_) ::kill(child_, number);  // It has left its own group.
  }

  MemoryWatch memory_;
  pid_t child_;
  Reaper reaper_;
  milliseconds grace_;
  RankWatches watches_;
  bool is_ended_by_full_disk_ = false;
  SteadyClock::time_point kill_at_ = SteadyClock::time_point::max();
};

/// Returns the supervisor's address for ranks of other nodes; absent for those beside it, and
/// without a supervisor.
std::optional<HeadAddress> head_of(const JobPlan& plan) {
  const char* const text = ::getenv(kJobHead);
  if (text == nullptr || contains(plan.ranks, 0)) return std::nullopt;
  return parse_head_address(text);
}

/// Adds a line to the log. Ignores failures, because the outcome of the rank matters more.
void note_in(const UniqueFd& log, const std::string& line) noexcept try {
  write_all(log.get(), line);
} catch (const Error&) {
  return;
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

/// The logs of a rank.
struct RankLogs {
  UniqueFd out;
  UniqueFd err;
  LogClock clock;
  std::unique_ptr<LogPump> pump{};  ///< Null if the program writes its logs itself.
};

std::filesystem::path blame_file(const std::filesystem::path& directory, int rank) {
  return directory / "ranks" / (std::to_string(rank) + ".blame");
}

RankEnd run_program(const std::filesystem::path& directory, const JobPlan& plan,
                    const PlaceInJob& place, RankLogs& logs, SignalQueue& signals) {
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
                            .full = plan.on_full == OnFull::stop ? &full : nullptr};
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

/// The link of the second process to the first one.
struct Front {
  pid_t launcher = 0;   ///< The parent of the first process: mpirun, or its daemon.
  UniqueFd early_code;  ///< Takes the exit code if this process outlives the program.
};

void reap_orphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

bool has_children() {
  siginfo_t ignored{};
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Lets the launcher see the end of the rank while this process goes on.
void release_front(Front& front, int code) {
  ::prctl(PR_SET_PDEATHSIG, 0);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd)
    ::dup2(null.get(), fd);  // The launcher waits until its pipes are closed.
  const auto byte = static_cast<char>(code);
  write_all(front.early_code.get(), {&byte, 1});
  front.early_code = UniqueFd();
}

/// Waits for the end of the job on this node, which is the end of its launcher, or an order to end.
void wait_for_job(const Front& front, SignalQueue& signals) {
  // Readable once the launcher has ended. Empty on kernels before 5.3, where it is looked for.
  const UniqueFd launcher(static_cast<int>(::syscall(SYS_pidfd_open, front.launcher, 0)));
  while (has_children() && ::kill(front.launcher, 0) == 0) {
    pollfd fds[] = {{signals.fd(), POLLIN, 0}, {launcher.get(), POLLIN, 0}};
    ::poll(fds, 2, kLookEvery);
    if (fds[1].revents != 0) return;
    while (const auto number = signals.next())
      if (*number != SIGCHLD && *number != kLauncherGone) return;
    reap_orphans();
  }
}

/// Ends the processes that the program has left behind, in whatever session: other ranks may use
/// them while the job runs, but they do not outlive it.
void end_the_rest(bool is_stopped, int code, Front& front, SignalQueue& signals) {
  reap_orphans();
  if (!has_children()) return;
  if (!is_stopped) {
    release_front(front, code);
    wait_for_job(front, signals);
  }
  end_processes({.descendants = Descendants::included}, milliseconds(0), reap_orphans);
}

/// Gives the rank that `end` blames time to end. Returns earlier on an order to end, which comes as
/// soon as that rank has failed on any node, and once it has ended on this node.
void wait_for_blamed(const std::filesystem::path& ranks, const RankEnd& end, SignalQueue& signals) {
  if (!end.blames) return;
  const auto status = ranks / (std::to_string(*end.blames) + ".status");
  const auto until = SteadyClock::now() + kTimeForBlamed;
  std::error_code none;
  while (SteadyClock::now() < until && !std::filesystem::exists(status, none)) {
    pollfd fd{signals.fd(), POLLIN, 0};
    ::poll(&fd, 1, kLookEvery);
    while (const auto number = signals.next()) {
      const bool ends = *number != SIGCHLD && *number != kLauncherGone && *number != SIGUSR1 &&
                        *number != SIGUSR2;
      if (ends) return;
    }
  }
}

/// Opens the logs `stem`.out and `stem`.err.
RankLogs open_logs(const std::filesystem::path& stem, OnFull on_full) {
  const std::string out = stem.string() + ".out", err = stem.string() + ".err";
  RankLogs logs{
      .out = open_for_append(out), .err = open_for_append(err), .clock = LogClock({out, err})};
  if (on_full == OnFull::drop) logs.pump = std::make_unique<LogPump>(logs.out, logs.err);
  return logs;
}

/// Waits until the logs have all that the program wrote.
void settle_logs(RankLogs& logs) {
  if (!logs.pump) return;
  logs.pump->leave_to_program();  // It may have failed to start.
  logs.pump->settle();
  logs.clock.finish();
}

/// Returns the values of the job's variables that are secrets, or whose names sound like one.
std::vector<std::string> secrets_in(const JobPlan& plan) {
  std::vector<std::string> values;
  for (const std::string& assignment : plan.environment) {
    const auto equals = assignment.find('=');
    if (equals == assignment.npos) continue;
    const std::string name = assignment.substr(0, equals);
    if (contains(plan.secrets, name) || sounds_secret(name))
      values.push_back(assignment.substr(equals + 1));
  }
  return values;
}

/// Adds the end of the rank's output to the report of a rank that failed by itself, as far as the
/// reserved file has room for it. Ignores failures, because the outcome of the rank matters more.
void add_last_lines(RankEnd& end, const std::filesystem::path& stem, const JobPlan& plan) try {
  if (end.told || end.how.ok()) return;
  constexpr std::size_t kForKeys = kMostLastLines * 8;
  const std::size_t size = to_text(end).size() + kForKeys;
  if (size < ReservedFile::kRoom)
    end.last_lines = last_lines(stem, secrets_in(plan), ReservedFile::kRoom - size);
} catch (const Error&) {
  return;
}

/// Runs the program of a rank and records its outcome. Returns the exit code.
int run_here(const std::filesystem::path& directory, std::vector<std::string> argv,
             SignalQueue& signals, Front front, const std::optional<std::string>& given_place) {
  const PlaceInJob place = given_place ? parse_place_in_job(*given_place) : find_place_in_job();
  const JobPlan plan = read_plan(directory, std::move(argv));
  const auto ranks = directory / "ranks";
  make_private_directory(ranks);
  const std::string name = std::to_string(place.rank);
  ReservedFile status(ranks / (name + ".status"));
  RankLogs logs = open_logs(ranks / name, plan.on_full);
  RankEnd end;
  const std::int64_t began = now_ns();
  try {
    const std::string remark = bind_rank(plan, place.rank);
    if (!remark.empty()) note_in(logs.err, remark + "\n");
    end = run_program(directory, plan, place, logs, signals);
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
  if (all_ranks_have_ended(directory, plan)) {
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

/// Returns the exit code that the second process reports before its own end, or -1.
int early_code(UniqueFd& from) {
  unsigned char code = 0;
  const ssize_t got = ::read(from.get(), &code, 1);
  if (got == 1) return code;
  if (got == 0) from = UniqueFd();
  return -1;
}

/// Waits for the process that runs the program and passes signals on to it. Returns its exit code.
int stand_for(pid_t other, pid_t launcher, UniqueFd from, SignalQueue& signals) {
  for (;;) {
    int status = 0;
    if (::waitpid(other, &status, WNOHANG) == other)
      return process::exit_status_of(status).shell_code();
    pollfd fds[] = {{signals.fd(), POLLIN, 0}, {from.get(), POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[1].revents != 0)
      if (const int code = early_code(from); code >= 0) return code;
    while (const auto number = signals.next()) {
      if (*number == kLauncherGone && ::getppid() != launcher) ::kill(other, SIGTERM);
      if (*number != SIGCHLD && *number != kLauncherGone) ::kill(other, *number);
    }
  }
}

/// Detaches this process, so that it survives if the launcher kills the first process by SIGKILL:
/// the program must still be ended, which may take time.
void outlive(pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::kill(::getpid(), SIGTERM);  // The parent has ended already.
}

}  // namespace

int run_rank(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  const auto place = options.take_value("--place");
  std::vector<std::string> argv;
  if (options.take_flag("--")) argv = options.take_rest();
  options.expect_end();
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
                  {.launcher = launcher, .early_code = std::move(pipe.write_end)}, place);
}

}  // namespace fastgpu::agent
