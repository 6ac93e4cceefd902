// `rank`: what the launcher starts for each rank. Its output goes to the node's disk and nowhere
// else.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "agent/disk.hpp"
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

/// mpirun sends SIGKILL one second after SIGTERM. The program gets it a little earlier, from us, so
/// that there is time to write down how it ended.
constexpr milliseconds kGrace{800};

/// One number under the names that the launchers know it by.
int number_of(std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names)
    if (const char* text = ::getenv(name)) return parse_number<int>(text, name);
  return fallback;
}

struct Place {
  int rank, local_rank, size;
};

Place find_place() {
  const Place place{number_of({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}, -1),
                    number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0),
                    number_of({"OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1)};
  if (place.rank < 0)
    throw Error(ErrorKind::usage,
                "no rank: OMPI_COMM_WORLD_RANK is not set (start this by mpirun)");
  return place;
}

Plan read_plan(const std::filesystem::path& directory, std::vector<std::string> argv) {
  const auto text = read_file(directory / "rank");
  if (!text) throw Error(ErrorKind::usage, directory.string() + " has no plan for ranks");
  Plan plan = parse_plan(*text);
  if (!argv.empty()) plan.argv = std::move(argv);
  return plan;
}

std::vector<std::string> environment_of(const Plan& plan, const Place& place) {
  auto environment = process::current_environment();
  const auto set = [&](const std::string& name, const std::string& value) {
    process::set_variable(environment, name + "=" + value);
  };
  set("FASTGPU_RANK", std::to_string(place.rank));
  set("FASTGPU_LOCAL_RANK", std::to_string(place.local_rank));
  set("FASTGPU_WORLD_SIZE", std::to_string(place.size));
  for (const std::string& assignment : plan.environment)
    process::set_variable(environment, assignment);
  set(std::string(kJobMarker), plan.id);
  return environment;
}

class RankRun {
 public:
  RankRun(process::Child child) : child_(std::move(child)) {}

  /// Until the program has ended; passes on what it is told.
  RankEnd run(SignalQueue& signals) {
    RankEnd end;
    for (;;) {
      if (const auto how = child_.poll()) {
        end.how = *how;
        return end;
      }
      if (SteadyClock::now() >= kill_at_) child_.signal(SIGKILL);
      pollfd fd{signals.fd(), POLLIN, 0};
      ::poll(&fd, 1, end.told ? 20 : -1);
      // A program that has ended by now ended by itself, whatever else has arrived meanwhile.
      if (child_.poll()) continue;
      while (const auto number = signals.next())
        pass_on(*number, end);
    }
  }

 private:
  void pass_on(int number, RankEnd& end) {
    if (number == SIGCHLD) return;
    child_.signal(number);
    if (number == SIGUSR1 || number == SIGUSR2 || end.told) return;
    end.told = true;
    kill_at_ = SteadyClock::now() + kGrace;
  }

  process::Child child_;
  SteadyClock::time_point kill_at_ = SteadyClock::time_point::max();
};

RankEnd run_program(const Plan& plan, const Place& place, const UniqueFd& out, const UniqueFd& err,
                    SignalQueue& signals) {
  process::Command command{.argv = plan.argv};
  command.out.fd = out.get();
  command.err.fd = err.get();
  command.directory = below_home(plan.directory);
  command.environment = environment_of(plan, place);
  command.grouping = process::Grouping::group;
  command.orphaned = process::Orphaned::is_killed;
  return RankRun(process::Child(command)).run(signals);
}

}  // namespace

int run_rank(Arguments arguments) {
  Options options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  std::vector<std::string> argv;
  if (options.take_flag("--")) argv = options.take_rest();
  options.expect_end();
  const Place place = find_place();
  const Plan plan = read_plan(directory, argv);
  const auto ranks = directory / "ranks";
  make_private_directory(ranks);
  const std::string name = std::to_string(place.rank);
  SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2});
  const UniqueFd out = open_for_append(ranks / (name + ".out"));
  const UniqueFd err = open_for_append(ranks / (name + ".err"));
  RankEnd end;
  try {
    end = run_program(plan, place, out, err, signals);
  } catch (const Error& e) {
    end.reason = e.what();
    end.how.code = e.kind() == ErrorKind::not_found ? 127 : 126;
    write_all(err.get(), host_name() + ": " + end.reason + "\n");
  }
  end.rank = place.rank;
  end.ended = now_ns();
  end.host = host_name();
  write_atomically(ranks / (name + ".status"), to_text(end));
  return end.how.shell_code();
}

}  // namespace fastgpu::agent
