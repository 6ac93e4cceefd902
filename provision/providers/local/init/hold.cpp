#include "provision/providers/local/init/hold.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <vector>

#include "base/error.hpp"
#include "base/socket_broker.hpp"
#include "provision/providers/local/init/system.hpp"
#include "provision/providers/local/links.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {
namespace {

// In milliseconds. The process that started the world connects at once.
constexpr int kFirstVisit = 10'000;

UniqueFd watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) throw system_error("watching signals", errno);
  return signals;
}

/// Reaps children that have ended; returns true if any is left.
bool has_children() {
  pid_t found = 0;
  while ((found = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
  }
  return found == 0;
}

/// The clients at the broker, and the processes of the world.
class Holder {
 public:
  Holder(const std::string& path, UniqueFd signals)
      : path_(path), broker_(listen_for_sockets(path)), signals_(std::move(signals)) {}

  /// Serves until the world is not needed any more, and removes the broker.
  void serve() {
    while (serve_once()) {
    }
  }

 private:
  /// Serves once. A leaving client sees its connection end when it is decided whether the world
  /// lives on.
  bool serve_once() {
    std::vector<pollfd> waits = {{broker_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    for (const UniqueFd& client : visitors_)
      waits.push_back({client.get(), POLLIN, 0});
    const int ready = ::poll(waits.data(), waits.size(), was_visited_ ? -1 : kFirstVisit);
    const std::vector<UniqueFd> leaving = take_leaving(waits);
    if (waits[0].revents != 0) let_in();
    const bool in_use = has_children() || !visitors_.empty() || !was_visited_;
    const bool goes_on = ready != 0 && !told_to_end() && in_use;
    if (!goes_on) ::unlink(path_.c_str());
    return goes_on;
  }

  bool told_to_end() {
    signalfd_siginfo info{};
    bool told = false;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info)
      told = told || info.ssi_signo == SIGTERM;
    return told;
  }

  /// Takes out the leaving clients. They send nothing: any event is the end.
  std::vector<UniqueFd> take_leaving(const std::vector<pollfd>& waits) {
    std::vector<UniqueFd> leaving;
    std::vector<UniqueFd> staying;
    for (std::size_t i = 0; i < visitors_.size(); ++i)
      (waits[i + 2].revents != 0 ? leaving : staying).push_back(std::move(visitors_[i]));
    visitors_ = std::move(staying);
    return leaving;
  }

  void let_in() {
    UniqueFd client(::accept4(broker_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client || !send_socket(client)) return;
    was_visited_ = true;
    visitors_.push_back(std::move(client));
  }

  std::string path_;
  UniqueFd broker_;
  UniqueFd signals_;
  std::vector<UniqueFd> visitors_;
  bool was_visited_ = false;
};

/// Mounts /proc. The kernel shows a user namespace only the parts of it that are visible outside.
void mount_proc() try {
  mount_at("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
} catch (const Error& e) {
  throw Error(e.kind(), std::string(e.what()) +
                            " (parts of /proc are covered here; for a container: "
                            "--security-opt systempaths=unconfined)");
}

void live(const std::string& folder) {
  UniqueFd signals = watch_signals();
  if (!take_lock(folder + std::string(kWorldLock))) return answer(kHeld);
  mount_proc();
  NetlinkSocket links;
  bring_up_loopback(links);
  Holder holder(folder + std::string(kWorldBroker), std::move(signals));
  answer(kReady);
  let_go_of_streams();
  holder.serve();
}

[[noreturn]] void live_or_say_why_not(const std::string& folder) {
  int status = 0;
  try {
    live(folder);
  } catch (const std::exception& e) {
    answer(std::string(kFailed) + e.what());
    status = 1;
  }
  ::_exit(status);
}

void await_ids() {
  answer(kUnmapped);
  char byte = 0;
  if (::read(STDIN_FILENO, &byte, 1) != 1)
    throw Error(ErrorKind::interrupted, "the parent process has ended");
  if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)
    throw system_error("becoming root of a user namespace", errno);
}

}  // namespace

int hold_world(const std::string& folder) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID) != 0)
    throw system_error("making a user namespace", errno);
  await_ids();
  ::umask(077);
  const pid_t child = ::fork();
  if (child < 0) throw system_error("making the first process of a user namespace", errno);
  if (child == 0) live_or_say_why_not(folder);
  return 0;  // The child answers, and lives on.
}

}  // namespace fastgpu::provision::local
