// `rank`: runs the program of one rank for the launcher, and writes its output only to the node's
// disk. There are two processes: the launcher sees the first one, which only passes on signals. The
// second one runs the program, and outlives the first one while the program ends.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "agent/files/disk.hpp"
#include "agent/files/reserved_file.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/rank_input.hpp"
#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"
#include "agent/signals.hpp"
#include "agent/subcommands.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The time between SIGTERM and SIGKILL for the program.
constexpr milliseconds kRankGrace{800};

/// Returns a number from the first variable that is set: each launcher has its own name for it.
int number_of(std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names)
    if (const char* text = ::getenv(name)) return parse_number<int>(text, name);
  return fallback;
}

struct CpuPlace {
  int rank, local_rank, size;
};

CpuPlace find_place() {
  const CpuPlace place{number_of({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}, -1),
                       number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0),
                       number_of({"OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1)};
  if (place.rank < 0)
    throw Error(ErrorKind::usage,
                "no rank: OMPI_COMM_WORLD_RANK is not set (start this by mpirun)");
  return place;
}

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

/// Sets the variable with the name of the secret's file, so that a program that prints its
/// environment does not show the secret. Removes a secret that this node's startup files have set,
/// because other nodes would have another one.
void name_secret(std::vector<std::string>& environment, const std::filesystem::path& directory) {
  const auto file = directory / kCommSecret;
  if (!std::filesystem::exists(file)) return;
  std::erase_if(environment, [](const std::string& assignment) {
    return assignment.starts_with("FASTGPU_COMM_SECRET=");
  });
  process::set_variable(environment, "FASTGPU_COMM_SECRET_FILE=" + file.string());
}

std::vector<std::string> environment_of(const std::filesystem::path& directory, const JobPlan& plan,
                                        const CpuPlace& place) {
  auto environment = process::current_environment();
  name_secret(environment, directory);
  const auto set = [&](const std::string& name, const std::string& value) {
    process::set_variable(environment, name + "=" + value);
  };
  // Sets our own names, and those that training scripts read.
  for (const char* prefix : {"FASTGPU_", ""}) {
    set(std::string(prefix) + "RANK", std::to_string(place.rank));
    set(std::string(prefix) + "LOCAL_RANK", std::to_string(place.local_rank));
    set(std::string(prefix) + "WORLD_SIZE", std::to_string(place.size));
  }
  for (const std::string& assignment : plan.environment)
    process::set_variable(environment, assignment);
  set(std::string(kJobMarker), plan.id);
  return environment;
}

class RankRun {
 public:
  /// `input` may be null.
  RankRun(process::Child child, RankInput* input) : child_(std::move(child)), input_(input) {}

  /// Runs until the program has ended, and passes on signals.
  RankEnd run(SignalQueue& signals) {
    RankEnd end;
    for (;;) {
      if (const auto how = child_.poll()) {
        end.how = *how;
        return end;
      }
      if (SteadyClock::now() >= kill_at_) child_.signal(SIGKILL);
      pollfd fds[] = {{signals.fd(), POLLIN, 0},
                      {input_ != nullptr ? input_->end_fd() : -1, POLLIN, 0}};
      ::poll(fds, 2, end.told ? 20 : -1);
      if (input_ != nullptr && fds[1].revents != 0) input_->end();
      // If the program has ended by now, it ended by itself, even if signals have arrived
      // meanwhile.
      if (child_.poll()) continue;
      while (const auto number = signals.next())
        pass_on(*number, end);
    }
  }

 private:
  void pass_on(int number, RankEnd& end) {
    if (number == SIGCHLD) return;
    const bool ends = number != SIGUSR1 && number != SIGUSR2;
    if (ends && end.told) return;  // The launcher repeats its order when it ends.
    child_.signal(number);
    if (!ends) return;
    end.told = true;
    kill_at_ = SteadyClock::now() + kRankGrace;
  }

  process::Child child_;
  RankInput* input_;
  SteadyClock::time_point kill_at_ = SteadyClock::time_point::max();
};

RankEnd run_program(const std::filesystem::path& directory, const JobPlan& plan,
                    const CpuPlace& place, const UniqueFd& out, const UniqueFd& err,
                    SignalQueue& signals) {
  std::optional<RankInput> input;
  if (plan.has_input && place.rank == 0) input.emplace(directory);
  process::Command command{.argv = plan.argv};
  command.in.mode = process::StreamMode::null;
  if (input) command.in.fd = input->for_program().get();
  command.out.fd = out.get();
  command.err.fd = err.get();
  command.directory = below_home(plan.directory);
  command.environment = environment_of(directory, plan, place);
  command.grouping = process::Grouping::group;
  command.on_parent_death = process::OnParentDeath::kill;
  process::Child child(command);
  if (input) input->for_program() = UniqueFd();
  return RankRun(std::move(child), input ? &*input : nullptr).run(signals);
}

/// Adds a line to the log. Ignores failures, because the outcome of the rank matters more.
void note_in(const UniqueFd& log, const std::string& line) noexcept try {
  write_all(log.get(), line);
} catch (const Error&) {
  return;
}

/// Runs the program of a rank and records its outcome. Returns the exit code.
int run_here(const std::filesystem::path& directory, std::vector<std::string> argv,
             SignalQueue& signals) {
  const CpuPlace place = find_place();
  const JobPlan plan = read_plan(directory, std::move(argv));
  const auto ranks = directory / "ranks";
  make_private_directory(ranks);
  const std::string name = std::to_string(place.rank);
  ReservedFile status(ranks / (name + ".status"));
  const UniqueFd out = open_for_append(ranks / (name + ".out"));
  const UniqueFd err = open_for_append(ranks / (name + ".err"));
  RankEnd end;
  try {
    end = run_program(directory, plan, place, out, err, signals);
  } catch (const Error& e) {
    end.reason = e.what();
    end.how.code = e.kind() == ErrorKind::not_found ? 127 : 126;
    note_in(err, host_name() + ": " + end.reason + "\n");
  }
  end.rank = place.rank;
  end.ended = now_ns();
  end.host = host_name();
  if (is_full(ranks)) end.full = ranks.string();
  status.commit(to_text(end));
  if (all_ranks_have_ended(directory, plan)) drop_secrets(directory);
  return end.how.shell_code();
}

/// Waits for the process that runs the program and passes signals on to it. Returns its exit code.
int stand_for(pid_t other, SignalQueue& signals) {
  for (;;) {
    int status = 0;
    if (::waitpid(other, &status, WNOHANG) == other)
      return process::exit_status_of(status).shell_code();
    pollfd fd{signals.fd(), POLLIN, 0};
    ::poll(&fd, 1, -1);
    while (const auto number = signals.next())
      if (*number != SIGCHLD) ::kill(other, *number);
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
  std::vector<std::string> argv;
  if (options.take_flag("--")) argv = options.take_rest();
  options.expect_end();
  SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2});
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw system_error("starting a rank", errno);
  if (child > 0) return stand_for(child, signals);
  outlive(self);
  return run_here(directory, std::move(argv), signals);
}

}  // namespace fastgpu::agent
