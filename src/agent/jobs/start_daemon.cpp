// `start-daemon` and `await-daemon`: start mpirun's daemon on another node, and do not wait longer
// than is reasonable. mpirun itself waits without limit for a daemon that has detached itself and
// does not report, and names no node.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "agent/files/disk.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/job_place.hpp"
#include "agent/jobs/node_names.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/jobs/rsh.hpp"
#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/start_lines.hpp"
#include "agent/subcommands.hpp"
#include "base/contains.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The time that a daemon has for its connection to mpirun: less than the first node waits.
constexpr milliseconds kToConnect = milliseconds(kLatestStart) / 2;
/// The time after which a daemon that is not found counts as ended.
constexpr milliseconds kToAppear{300};
constexpr std::size_t kKeptWords = 4'096;

std::string job_id() {
  const char* const id = ::getenv(std::string(kJobMarker).c_str());
  return id == nullptr ? "" : id;
}

std::filesystem::path job_directory() {
  return below_home(std::filesystem::path(kJobs) / job_id());
}

/// Returns the command with the wait for the daemon's connection after it. A daemon that does not
/// detach itself ends only with the job, as for a user who debugs mpirun.
std::string with_wait(const std::string& command) {
  if (command.find("--daemonize") == command.npos || job_id().empty()) return command;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").filename();
  return command + " && ~/.fastgpu/bin/" + program + " await-daemon";
}

std::string last_line(const std::string& words) {
  std::string last;
  for (const std::string_view line : split(words, '\n'))
    if (line.find_first_not_of(" \r\t") != line.npos) last = line;
  while (last.ends_with('\r'))
    last.pop_back();
  return last;
}

/// Runs ssh for one node, and passes on what it writes.
class DaemonStart {
 public:
  /// `limit` is the longest time that ssh may take.
  DaemonStart(std::string node, const process::Command& command, milliseconds limit)
      : node_(std::move(node)), child_(command), limit_(limit) {}

  /// Returns the exit code of ssh, and 1 if it has taken too long.
  int run() {
    const auto begun = SteadyClock::now();
    bool is_late = false;
    for (;;) {
      read_words();
      if (const auto how = child_.poll()) return end(*how);
      const auto waited = SteadyClock::now() - begun;
      if (!is_late && waited >= std::min<milliseconds>(kLateStart, limit_ / 2)) {
        is_late = true;
        write_all(STDERR_FILENO, late_start_line(node_));
      }
      if (waited >= limit_) return give_up();
    }
  }

 private:
  /// Waits shortly for words, and reads those that there are.
  void read_words() {
    pollfd fd{has_words_ ? child_.err().get() : -1, POLLIN, 0};
    if (::poll(&fd, 1, has_words_ ? 100 : 10) > 0) has_words_ = read_some();
  }

  bool read_some() {
    char buffer[1024];
    const ssize_t got = ::read(child_.err().get(), buffer, sizeof buffer);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return false;
    const std::string_view words(buffer, static_cast<std::size_t>(got));
    write_all(STDERR_FILENO, words);
    words_ += words;
    if (words_.size() > kKeptWords) words_.erase(0, words_.size() - kKeptWords);
    return true;
  }

  int end(const process::ExitStatus& how) {
    pollfd fd{child_.err().get(), POLLIN, 0};
    while (has_words_ && ::poll(&fd, 1, 0) > 0)
      has_words_ = read_some();
    if (how.ok()) return 0;
    constexpr int kOfSsh = 255;  // Any other code is that of the command.
    const std::string program = how.shell_code() == kOfSsh ? "ssh " : "mpirun's daemon ";
    const std::string words = last_line(words_);
    return fail(words.empty() ? program + describe(how) : words, how.shell_code());
  }

  int give_up() {
    child_.signal(SIGKILL);
    return fail("it has not answered for " + to_string(limit_), 1);
  }

  int fail(const std::string& why, int code) {
    write_all(STDERR_FILENO, failed_start_line({.node = node_, .why = why}));
    return code;
  }

  std::string node_;
  process::Child child_;
  milliseconds limit_;
  std::string words_;
  bool has_words_ = true;
};

/// Returns the inodes of the connections in a table of the kernel.
std::vector<std::string> connections_in(const std::string& table) {
  constexpr std::string_view kEstablished = "01";
  std::vector<std::string> inodes;
  for (const std::string_view line : split(table, '\n')) {
    std::istringstream fields{std::string(line)};
    std::string number, ours, theirs, state, queues, timer, again, user, timeout, inode;
    if (fields >> number >> ours >> theirs >> state >> queues >> timer >> again >> user >>
            timeout >> inode &&
        state == kEstablished)
      inodes.push_back(inode);
  }
  return inodes;
}

/// Returns true if the process has a TCP connection. A daemon connects to nothing but mpirun before
/// ranks run.
bool is_connected(pid_t pid) {
  std::vector<std::string> inodes;
  for (const char* const table : {"net/tcp", "net/tcp6"})
    for (std::string& inode : connections_in(proc_file(pid, table)))
      inodes.push_back("socket:[" + inode + "]");
  std::error_code failure;
  const std::filesystem::path folder = "/proc/" + std::to_string(pid) + "/fd";
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code gone;
    if (contains(inodes, std::filesystem::read_symlink(it->path(), gone).string())) return true;
  }
  return false;
}

/// Returns the processes of the job on this node that are not of this program: before its ranks
/// run, these are the daemon. The shell that this process is run by does not have the marker
/// itself.
std::vector<pid_t> daemons() {
  const std::string marker = std::string(kJobMarker) + "=" + job_id();
  auto pids = find_processes({.marker = marker});
  std::erase_if(pids, [&](pid_t pid) {
    return !has_marker(pid, marker) || proc_file(pid, "comm").starts_with("fastgpu-agent");
  });
  return pids;
}

}  // namespace

int run_start_daemon(Arguments arguments) {
  OptionReader words(arguments);
  milliseconds limit = kLatestStart;
  if (const auto given = words.take_value("--limit"))
    limit = milliseconds(parse_number<std::int64_t>(*given, "--limit"));
  RemoteStart start = take_remote_start(words);
  start.command = with_wait(start.command);
  process::Command command{.argv = ssh_command(start)};
  command.err.mode = process::StreamMode::pipe;
  command.on_parent_death = process::OnParentDeath::kill;
  return DaemonStart(node_name(job_directory(), start.node), command, limit).run();
}

int run_await_daemon(Arguments arguments) {
  OptionReader(arguments).expect_end();
  const auto begun = SteadyClock::now();
  auto seen = begun;
  while (!has_begun(job_directory())) {
    const auto found = daemons();
    if (std::ranges::any_of(found, is_connected)) return 0;
    const auto now = SteadyClock::now();
    if (!found.empty()) seen = now;
    if (now - seen >= kToAppear)
      throw Error(ErrorKind::remote, "mpirun's daemon ended before it had reported to mpirun");
    if (now - begun >= kToConnect)
      throw Error(ErrorKind::remote,
                  "mpirun's daemon runs, but has no connection to mpirun on the first node");
    ::poll(nullptr, 0, 10);
  }
  return 0;
}

}  // namespace fastgpu::agent
