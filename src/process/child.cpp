#include "process/child.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/pipe.hpp"
#include "process/interpreter.hpp"

namespace fastgpu::process {
namespace {

/// The step that failed in the child before its program ran, reported through a pipe.
enum class Step : int { streams, directory, program };
struct Failure {
  Step step;
  int error;
};

/// The data that the child needs. It is prepared before fork, because only async-signal-safe calls
/// are allowed after it.
struct Prepared {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::array<int, 3> fds{-1, -1, -1};  ///< -1 to inherit the stream.
  const char* directory = nullptr;
  Grouping grouping = Grouping::shared;
  OnParentDeath on_parent_death = OnParentDeath::live_on;
  OnBrokenPipe on_broken_pipe = OnBrokenPipe::kill;
  pid_t parent = 0;
  int report = -1;
};

[[noreturn]] void report(const Prepared& plan, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const auto written = ::write(plan.report, &failure, sizeof failure);
  ::_exit(127);
}

void connect_streams(Prepared& plan) {
  // Moves the sources above descriptor 2 first, so that no source is overwritten before it is used.
  for (int& fd : plan.fds)
    if (fd >= 0 && fd < 3) fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (plan.report < 3) plan.report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, 3);
  for (int i = 0; i < 3; ++i) {
    const int fd = plan.fds[static_cast<std::size_t>(i)];
    if (fd >= 0 && ::dup2(fd, i) < 0) report(plan, Step::streams);
  }
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number)
    ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Keeps all other descriptors from the program, also those of libraries. A daemon that inherited
/// the end of a pipe would let the reader wait. Kernels before 5.11 cannot do this; our own
/// descriptors are closed there, too.
void close_others_on_exec() {
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
}

[[noreturn]] void become(Prepared& plan) {
  reset_signals();
  if (plan.on_broken_pipe == OnBrokenPipe::fail) ::signal(SIGPIPE, SIG_IGN);
  if (plan.grouping == Grouping::group) ::setpgid(0, 0);
  if (plan.grouping == Grouping::session) ::setsid();
  if (plan.on_parent_death == OnParentDeath::kill) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) ::_exit(127);  // The parent died before the prctl call above.
  }
  connect_streams(plan);
  close_others_on_exec();
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) report(plan, Step::directory);
  ::execve(plan.program.c_str(), plan.argv.data(), plan.environment.data());
  report(plan, Step::program);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& text : strings)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// Returns the child's descriptor for a stream. The descriptors that must stay open until the fork
/// are kept in `ours` (our end of a pipe) and `theirs`.
int open_stream(const ChildStream& stream, bool child_reads, UniqueFd& ours, UniqueFd& theirs) {
  if (stream.fd >= 0) return stream.fd;
  if (stream.mode == StreamMode::inherit) return -1;
  if (stream.mode == StreamMode::null) {
    theirs = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!theirs) throw system_error("opening /dev/null", errno);
    return theirs.get();
  }
  Pipe pipe = make_pipe();
  ours = std::move(child_reads ? pipe.write_end : pipe.read_end);
  theirs = std::move(child_reads ? pipe.read_end : pipe.write_end);
  return theirs.get();
}

/// Returns ": its interpreter X does not exist" for a file that exists although the kernel has not
/// found what runs it; "" for others.
std::string missing_runner(const std::filesystem::path& file) {
  std::error_code none;
  if (std::filesystem::file_size(file, none) == 0 || none) return "";
  const auto line = interpreter_line(file);
  if (!line)
    return ": the file exists, but not the loader that it was built for: it is for another system";
  const std::string why = absent_interpreter(*line);
  return why.empty() ? "" : ": " + why;
}

Error failure_of(const Command& command, const std::filesystem::path& program,
                 const Failure& failure) {
  const bool in_directory = failure.step == Step::directory;
  const std::string what =
      in_directory                    ? "working directory " + printable(command.directory.string())
      : failure.step == Step::streams ? "connecting the streams of " + printable(command.argv[0])
                                      : printable(command.argv[0]);
  const Error error = system_error(what, failure.error);
  const bool missing = failure.error == ENOENT || failure.error == ENOTDIR;
  if (missing && failure.step == Step::program)
    if (const auto why = missing_runner(command.directory / program); !why.empty())
      return {ErrorKind::not_found, what + why};
  return missing ? Error(ErrorKind::not_found, error.what()) : error;
}

}  // namespace

Child::Child(const Command& command) {
  if (command.argv.empty()) throw Error(ErrorKind::usage, "an empty command cannot be run");
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment =
      command.environment ? *command.environment : current_environment();
  Prepared plan;
  const auto path = variable(environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  plan.program = find_program(argv[0], path).string();
  plan.argv = pointers(argv);
  plan.environment = pointers(environment);
  std::array<UniqueFd, 3> theirs;
  plan.fds = {open_stream(command.in, true, in_, theirs[0]),
              open_stream(command.out, false, out_, theirs[1]),
              open_stream(command.err, false, err_, theirs[2])};
  if (!command.directory.empty()) plan.directory = command.directory.c_str();
  plan.grouping = command.grouping;
  plan.on_parent_death = command.on_parent_death;
  plan.on_broken_pipe = command.on_broken_pipe;
  plan.parent = ::getpid();
  Pipe trouble = make_pipe();
  plan.report = trouble.write_end.get();
  leads_group_ = command.grouping != Grouping::shared;

  pid_ = ::fork();
  if (pid_ < 0) throw system_error("starting " + printable(argv[0]), errno);
  if (pid_ == 0) become(plan);
  trouble.write_end = UniqueFd();
  Failure failure{};
  ssize_t got = 0;
  do
    got = ::read(trouble.read_end.get(), &failure, sizeof failure);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof failure)) return;
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  throw failure_of(command, plan.program, failure);
}

Child::~Child() {
  if (pid_ < 0 || ended_) return;
  signal(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      leads_group_(other.leads_group_),
      ended_(other.ended_),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(leads_group_, other.leads_group_);
  std::swap(ended_, other.ended_);
  in_ = std::move(other.in_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  return *this;
}

std::optional<ExitStatus> Child::poll() {
  if (ended_ || pid_ < 0) return ended_;
  int status = 0;
  const pid_t found = ::waitpid(pid_, &status, WNOHANG);
  if (found == pid_) ended_ = exit_status_of(status);
  if (found < 0 && errno != EINTR) throw system_error("waiting for a child", errno);
  return ended_;
}

ExitStatus Child::wait() {
  while (!ended_)
    wait_for(std::chrono::hours(24), nullptr);
  return *ended_;
}

std::optional<ExitStatus> Child::wait_for(std::chrono::milliseconds limit, const Cancel* cancel) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  // Empty on kernels before 5.3: polled below.
  const UniqueFd watch(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  while (!poll()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || (cancel != nullptr && cancel->requested())) break;
    const auto step = watch ? left : std::min(left, std::chrono::milliseconds(20));
    pollfd fds[] = {{watch.get(), POLLIN, 0}, {cancel != nullptr ? cancel->fd() : -1, POLLIN, 0}};
    ::poll(fds, 2, static_cast<int>(step.count()));
  }
  return ended_;
}

void Child::signal(int number) noexcept {
  if (pid_ <= 0 || ended_) return;
  // Sends the signal only once to each process: a program may take a second signal as a request to
  // end at once.
  const bool is_in_group = leads_group_ && ::getpgid(pid_) == pid_;
  if (leads_group_) ::kill(-pid_, number);
  if (!is_in_group) ::kill(pid_, number);
}

}  // namespace fastgpu::process
