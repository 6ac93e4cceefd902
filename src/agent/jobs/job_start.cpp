// `job-start`: starts a supervisor that survives the connection.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "agent/files/disk.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/supervisor.hpp"
#include "agent/options.hpp"
#include "agent/subcommands.hpp"
#include "base/caught.hpp"
#include "base/files.hpp"
#include "base/pipe.hpp"

namespace fastgpu::agent {
namespace {

JobPlan read_plan(const std::filesystem::path& directory) {
  const auto text = read_file(directory / "spec");
  if (!text) throw Error(ErrorKind::usage, directory.string() + " has no job: spec is missing");
  return parse_plan(*text);
}

void leave_connection() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) throw system_error("opening /dev/null", errno);
  for (int fd = 0; fd < 3; ++fd)
    ::dup2(null.get(), fd);
}

void write_never_ran(const std::filesystem::path& directory, StopCause cause, int signal) {
  const JobEnd end{.how = {.code = 0, .signal = signal},
                   .ended = now_ns(),
                   .cause = cause,
                   .host = host_name(),
                   .reason = {}};
  write_atomically(directory / "status", to_text(end));
  drop_secrets(directory);
}

/// Takes the lock, which is held until the process ends, and thereby the right to be the
/// supervisor.
void take_over(const std::filesystem::path& directory, const JobPlan& plan, UniqueFd& ready) {
  const auto lock = try_lock(directory / "lock");
  if (!lock || read_file(directory / "status")) return;  // The job is running, or has run already.
  if (read_file(directory / "started")) {
    // Another process had started it and has gone without a status. The job is not run twice.
    write_never_ran(directory, StopCause::vanished, SIGKILL);
    return;
  }
  touch(directory / "lease");
  write_atomically(directory / "started", std::to_string(::getpid()));
  // This check comes after `started` is written, while job-stop checks for `started` after it has
  // left its mark. So at least one of the two notices the other.
  if (std::filesystem::exists(directory / kStoppedMark))
    return write_never_ran(directory, StopCause::request, SIGTERM);
  supervise(directory, plan, [&] { ready = UniqueFd(); });
}

/// The supervisor's error as it goes through the pipe to the process that started it: one byte of
/// its kind, and its words.
std::string to_bytes(ErrorKind kind, std::string_view words) {
  return std::string(1, static_cast<char>(kind)).append(words);
}

Error read_error(std::string_view bytes) {
  return {static_cast<ErrorKind>(bytes.front()), std::string(bytes.substr(1))};
}

/// Runs in the grandchild. Writes an error to `ready`; closing `ready` without one reports success.
[[noreturn]] void become_supervisor(const std::filesystem::path& directory, const JobPlan& plan,
                                    UniqueFd ready) {
  int code = 0;
  try {
    leave_connection();
    take_over(directory, plan, ready);
  } catch (const std::exception&) {
    const Error error = caught_error();
    code = 1;
    if (ready) write_all(ready.get(), to_bytes(error.kind(), error.what()));
  }
  ::_exit(code);
}

[[noreturn]] void detach(const std::filesystem::path& directory, const JobPlan& plan,
                         UniqueFd ready) {
  ::setsid();
  const pid_t supervisor = ::fork();
  if (supervisor == 0) become_supervisor(directory, plan, std::move(ready));
  ::_exit(supervisor < 0 ? 1 : 0);
}

}  // namespace

int run_job_start(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  options.expect_end();
  const JobPlan plan = read_plan(directory);
  Pipe ready = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw system_error("starting the supervisor", errno);
  if (child == 0) detach(directory, plan, std::move(ready.write_end));
  { const UniqueFd closed(std::move(ready.write_end)); }
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::string trouble = read_to_end(ready.read_end.get(), "reading from the supervisor");
  if (!trouble.empty()) throw read_error(trouble);
  if (status != 0) throw Error(ErrorKind::local, "the supervisor could not be started");
  return 0;
}

}  // namespace fastgpu::agent
