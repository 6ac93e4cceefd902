#include "provision/providers/local/node_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>

#include "base/descriptors.hpp"
#include "base/outcome.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kInOrder{6'000};  // The init itself gives its processes 2 s, and 2 s more.
constexpr milliseconds kAtOnce{20'000};  // A namespace with many processes needs this long.

/// Returns the number of the process that holds the lock; 0 if it is in no namespace of ours,
/// absent if the lock is free.
std::optional<pid_t> lock_holder(const fs::path& folder) {
  const UniqueFd file(::open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw system_error("opening " + (folder / "lock").string(), errno);
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_GETLK, &lock) != 0)
    throw system_error("reading the lock in " + folder.string(), errno);
  return lock.l_type == F_UNLCK ? std::nullopt : std::optional(lock.l_pid);
}

bool ends_by(const UniqueFd& process, steady_clock::time_point end) {
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    pollfd wait{process.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (ready > 0) return true;
    if (ready == 0 && left <= milliseconds(0)) return false;
  }
}

void signal_all(const std::vector<std::optional<LiveNode>>& nodes, int number) {
  for (const auto& node : nodes)
    if (node) signal_process(node->process, number);
}

/// Removes those that have ended by `limit` from now.
void wait_for_all(std::vector<std::optional<LiveNode>>& nodes, milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  for (auto& node : nodes) {
    if (!node || !ends_by(node->process, end)) continue;
    ::waitpid(node->pid, nullptr, WNOHANG);  // Only processes that we made can be reaped.
    node.reset();
  }
}

}  // namespace

// The C library's header for these has no C linkage before its version 2.37.
UniqueFd open_process(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void signal_process(const UniqueFd& process, int number) {
  ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
}

bool ends_within(const UniqueFd& process, milliseconds limit) {
  return ends_by(process, steady_clock::now() + limit);
}

std::optional<LiveNode> find_live(const fs::path& folder) {
  for (;;) {
    const auto pid = lock_holder(folder);
    if (!pid) return std::nullopt;
    if (*pid <= 0)
      throw Error(ErrorKind::local, "the node in " + folder.string() +
                                        " is run by a process that cannot be seen from here: was "
                                        "it started in another container?");
    LiveNode node{*pid, open_process(*pid)};
    if (!node.process && errno != ESRCH)
      throw system_error("watching process " + std::to_string(*pid), errno);
    // The holder may have ended, and its number been reused, between the two calls above.
    if (node.process && lock_holder(folder) == pid) return node;
  }
}

bool is_live(const fs::path& folder) {
  return lock_holder(folder).has_value();
}

namespace {

/// Ends nodes. Each takes a descriptor until it has ended.
std::vector<Outcome<void>> end_at_once(std::span<const fs::path> folders, Ending ending) {
  std::vector<Outcome<void>> outcomes(folders.size());
  std::vector<std::optional<LiveNode>> nodes(folders.size());
  for (std::size_t i = 0; i < folders.size(); ++i)
    outcomes[i] = attempt([&] { nodes[i] = find_live(folders[i]); });
  if (ending == Ending::in_order) {
    signal_all(nodes, SIGTERM);
    wait_for_all(nodes, kInOrder);
  }
  signal_all(nodes, SIGKILL);
  wait_for_all(nodes, kAtOnce);
  for (std::size_t i = 0; i < folders.size(); ++i)
    if (nodes[i])
      outcomes[i] = Error(ErrorKind::local, "process " + std::to_string(nodes[i]->pid) +
                                                " does not end, even when killed");
  return outcomes;
}

}  // namespace

std::vector<Outcome<void>> end_nodes(std::span<const fs::path> folders, Ending ending) {
  std::vector<Outcome<void>> outcomes;
  while (!folders.empty()) {
    const auto some = folders.first(std::min(folders.size(), free_descriptors()));
    std::ranges::move(end_at_once(some, ending), std::back_inserter(outcomes));
    folders = folders.subspan(some.size());
  }
  return outcomes;
}

}  // namespace fastgpu::provision::local
