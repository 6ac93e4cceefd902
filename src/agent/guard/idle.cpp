#include "agent/guard/idle.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

constexpr double kBusy = 0.1;  // The share of one core.
constexpr int kBusyGpu = 5;    // In per cent.
constexpr std::size_t kLongestTitle = 60;

using ByPid = std::map<pid_t, const SeenProcess*>;

ByPid by_pid(const NodeActivity& sight) {
  ByPid all;
  for (const SeenProcess& process : sight.processes)
    all[process.pid] = &process;
  return all;
}

/// Returns the ids of a process and its ancestors.
std::set<pid_t> line_of(pid_t pid, const ByPid& processes) {
  std::set<pid_t> line;
  while (pid > 0 && line.insert(pid).second) {
    const auto found = processes.find(pid);
    pid = found == processes.end() ? 0 : found->second->parent;
  }
  return line;
}

const SeenProcess* same_process(const SeenProcess& process, const ByPid& others) {
  const auto found = others.find(process.pid);
  return found != others.end() && found->second->began == process.began ? found->second : nullptr;
}

std::string named(const SeenProcess& process) {
  return printable(process.title, kLongestTitle) + " (" + std::to_string(process.pid) + ")";
}

/// Returns the session in the title of an sshd, "root@pts/0" for "sshd: root@pts/0"; "" for other
/// titles.
std::string session_of(std::string_view title) {
  for (const std::string_view daemon : {"sshd: ", "sshd-session: "}) {
    if (!title.starts_with(daemon)) continue;
    const std::string_view rest = title.substr(daemon.size());
    return rest.find('@') == std::string_view::npos ? ""
                                                    : std::string(rest.substr(0, rest.find(' ')));
  }
  return "";
}

/// Adds a waking. Processes with an equal waking share one entry, with the oldest start.
void add(std::vector<Waking>& wakings, const Waking& waking) {
  for (Waking& there : wakings)
    if (there.kind == waking.kind && there.what == waking.what) {
      there.since = std::min(there.since, waking.since);
      return;
    }
  wakings.push_back(waking);
}

void add_session(std::vector<Waking>& wakings, const NodeActivity& now, const SeenProcess& process,
                 const std::string& session, bool was_there) {
  const auto at = session.find('@');
  const std::string user = session.substr(0, at);
  const std::string terminal = session.substr(at + 1);
  const auto keys = now.keys_pressed.find(terminal);
  if (keys != now.keys_pressed.end())
    add(wakings, {"login", user + " on " + terminal, process.began, keys->second});
  else if (was_there)
    add(wakings, {"connection", user + " (" + std::to_string(process.pid) + ")", process.began,
                  std::int64_t(now.at)});
}

/// Returns true for the title of an agent that works for a running fastgpu.
bool is_attended(const std::string& title) {
  if (title.find("fastgpu-agent") == std::string::npos) return false;
  for (const char* call : {" exec ", " job-follow ", " receive ", " send "})
    if (title.find(call) != std::string::npos) return true;
  return false;
}

/// Returns true for the kernel's processes, and for those that serve a connection. Their processor
/// time does not count; the work that they serve is counted elsewhere.
bool is_of_contacts(const std::string& title) {
  return title.empty() || title.starts_with("sshd") ||
         title.find("fastgpu-agent") != std::string::npos;
}

bool is_busy(const SeenProcess& process, const SeenProcess* before, double seconds) {
  const double used = process.processor - (before == nullptr ? 0 : before->processor);
  return used >= kBusy * seconds;
}

}  // namespace

std::int64_t last_contact(const NodeActivity& now) {
  std::int64_t last = now.contact;
  for (const auto& [terminal, key] : now.keys_pressed)
    last = std::max(last, key);
  for (const SeenProcess& process : now.processes)
    if (is_attended(process.title)) last = static_cast<std::int64_t>(now.at);
  return last;
}

std::vector<Waking> wakings_of(const NodeActivity& before, const NodeActivity& now, pid_t own) {
  const ByPid then = by_pid(before);
  const std::set<pid_t> ours = line_of(own, by_pid(now));
  const auto moment = static_cast<std::int64_t>(now.at);
  const double seconds = std::max(0.001, now.at - before.at);
  std::vector<Waking> wakings;
  for (const SeenProcess& process : now.processes) {
    if (ours.contains(process.pid)) continue;
    const SeenProcess* earlier = same_process(process, then);
    const std::string session = session_of(process.title);
    if (!process.job.empty())
      add(wakings, {"job", process.job, process.began, moment});
    else if (process.is_command)
      add(wakings, {"command", named(process), process.began, moment});
    else if (!session.empty())
      add_session(wakings, now, process, session, earlier != nullptr);
    else if (!is_of_contacts(process.title) && is_busy(process, earlier, seconds))
      add(wakings, {"process", named(process), process.began, moment});
  }
  for (const SeenGpu& gpu : now.gpus)
    if (gpu.percent >= kBusyGpu)
      add(wakings, {"gpu", "GPU " + std::to_string(gpu.index), 0, moment});
  if (now.contact > 0) add(wakings, {"contact", "fastgpu", now.contact, now.contact});
  return wakings;
}

std::int64_t idle_since(const std::vector<Waking>& wakings, std::int64_t watched) {
  for (const Waking& waking : wakings)
    watched = std::max(watched, waking.last);
  return watched;
}

void keep_beginnings(std::vector<Waking>& wakings, const std::vector<Waking>& before,
                     std::int64_t now) {
  for (Waking& waking : wakings) {
    if (waking.since != 0) continue;
    waking.since = now;
    for (const Waking& earlier : before)
      if (earlier.kind == waking.kind && earlier.what == waking.what) waking.since = earlier.since;
  }
}

void set_power_off(NodeWatch& watch, const GuardOrder& order, std::int64_t contact) {
  const auto keep_nearest = [&](std::int64_t when, const char* because) {
    if (watch.powers_off != 0 && watch.powers_off <= when) return;
    watch.powers_off = when;
    watch.because = because;
  };
  watch.powers_off = 0;
  watch.because.clear();
  if (order.ends != 0) keep_nearest(order.ends, "end");
  if (order.unattended.count() > 0) keep_nearest(contact + order.unattended.count(), "unattended");
  if (order.idle.count() > 0) keep_nearest(watch.idle_since + order.idle.count(), "idle");
  watch.acts = !order.off.empty();
}

}  // namespace fastgpu::agent
