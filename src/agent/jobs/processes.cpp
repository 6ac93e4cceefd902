#include "agent/jobs/processes.hpp"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "agent/files/disk.hpp"
#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

using Directory = CHandle<DIR, ::closedir>;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

struct Process {
  pid_t parent = 0;
  pid_t session = 0;
  bool zombie = false;
};

Process look_at(pid_t pid) {
  const std::string stat = proc_file(pid, "stat");
  // The name may contain any character, even ')'.
  const auto name_end = stat.rfind(')');
  Process found;
  if (name_end == std::string::npos) return {.zombie = true};
  char state = 0;
  int parent = 0, group = 0, session = 0;
  std::istringstream rest(stat.substr(name_end + 1));
  if (!(rest >> state >> parent >> group >> session)) return {.zombie = true};
  return {.parent = parent, .session = session, .zombie = state == 'Z' || state == 'X'};
}

/// Returns true if the process or one of its ancestors is among `roots`.
bool belongs_to(const std::set<pid_t>& roots, pid_t pid,
                const std::map<pid_t, Process>& processes) {
  for (std::size_t steps = 0; steps <= processes.size(); ++steps) {
    if (roots.contains(pid)) return true;
    const auto found = processes.find(pid);
    if (found == processes.end()) return false;
    pid = found->second.parent;
  }
  return false;
}

/// Returns true for an agent that runs a rank, by its command line.
bool runs_rank(pid_t pid) {
  const std::string line = proc_file(pid, "cmdline");
  const auto name_end = line.find('\0');
  constexpr std::string_view kWord("rank\0", 5);
  return name_end != std::string::npos && line.compare(name_end + 1, kWord.size(), kWord) == 0;
}

void signal_all(const std::vector<pid_t>& pids, int number) {
  for (const pid_t pid : pids)
    ::kill(pid, number);
}

void pause_for(milliseconds duration) {
  ::poll(nullptr, 0, static_cast<int>(duration.count()));
}

/// Waits until all have ended or `limit` has passed, and returns the rest. If `again` is not 0,
/// sends this signal in every round.
std::vector<pid_t> left_after(const ProcessGroup& who, milliseconds limit, int again,
                              const std::function<void()>& reap) {
  const auto deadline = SteadyClock::now() + limit;
  auto step = milliseconds(2);
  for (;;) {
    if (reap) reap();
    auto left = find_processes(who);
    if (left.empty() || SteadyClock::now() >= deadline) {
      if (reap) reap();  // Some may have been zombies already.
      return left;
    }
    if (again != 0) signal_all(left, again);
    pause_for(step);
    step = std::min(step * 2, milliseconds(50));
  }
}

}  // namespace

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  const Directory proc(::opendir("/proc"));
  if (!proc) throw Error(ErrorKind::local, "/proc is not there");
  while (const dirent* entry = ::readdir(proc.get())) {
    if (const auto pid = to_number<pid_t>(entry->d_name)) pids.push_back(*pid);
  }
  return pids;
}

std::string proc_file(pid_t pid, const char* name) {
  try {
    return read_file("/proc/" + std::to_string(pid) + "/" + name).value_or("");
  } catch (const Error&) {
    return "";  // It ended during the read, or belongs to another user.
  }
}

bool has_marker(pid_t pid, const std::string& marker) {
  const std::string environment = '\0' + proc_file(pid, "environ") + '\0';
  return environment.find('\0' + marker + '\0') != std::string::npos;
}

std::vector<pid_t> find_processes(const ProcessGroup& who) {
  std::map<pid_t, Process> processes;
  for (const pid_t pid : all_pids())
    processes[pid] = look_at(pid);
  const pid_t self = ::getpid();
  std::set<pid_t> roots;
  if (who.descendants == Descendants::included) roots.insert(self);
  for (const auto& [pid, process] : processes) {
    if (pid == self) continue;
    const bool is_root = (who.session != 0 && process.session == who.session) ||
                         (!who.marker.empty() && has_marker(pid, who.marker));
    if (is_root) roots.insert(pid);
  }
  std::vector<pid_t> found;
  for (const auto& [pid, process] : processes)
    if (pid != self && !process.zombie && belongs_to(roots, pid, processes)) found.push_back(pid);
  return found;
}

std::size_t order_ranks(const std::string& marker) {
  std::size_t ordered = 0;
  for (const pid_t pid : all_pids()) {
    if (pid == ::getpid() || !runs_rank(pid) || !has_marker(pid, marker)) continue;
    ++ordered;
    ::kill(pid, SIGTERM);
  }
  return ordered;
}

void wait_for_end(const ProcessGroup& who, milliseconds limit, const std::function<void()>& reap) {
  left_after(who, limit, 0, reap);
}

std::size_t end_processes(const ProcessGroup& who, milliseconds grace,
                          const std::function<void()>& reap) {
  if (grace.count() > 0) {
    signal_all(find_processes(who), SIGTERM);
    if (left_after(who, grace, 0, reap).empty()) return 0;
  }
  // Signals repeatedly, so that a process that forks in one round is found in the next.
  return left_after(who, milliseconds(5'000), SIGKILL, reap).size();
}

}  // namespace fastgpu::agent
