#include "provision/providers/local/rootless/inside.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/pipe.hpp"
#include "provision/providers/local/rootless/answers.hpp"

namespace fastgpu::provision::local {
namespace {

void send_answer(int fd, std::string_view text) noexcept try {
  write_all(fd, text, "answering");
} catch (const Error&) {
  return;  // The reader has gone.
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

/// Passes a cancel on. `outer` is shared with our parent: its flag is in the parent's memory, and
/// its descriptor is open here, too.
void follow(const Cancel& outer, Cancel& inner) {
  std::thread([&outer, &inner] {
    pollfd wait{outer.fd(), POLLIN, 0};
    while (::poll(&wait, 1, -1) < 0) {
    }
    inner.request();
  }).detach();
}

std::string answer_of(const std::function<std::string(const Cancel&)>& work, const Cancel& outer) {
  try {
    static Cancel inner;  // Used by the thread, which ends with the process.
    follow(outer, inner);
    return to_answer(work(inner));
  } catch (const Error& e) {
    return to_answer(e);
  } catch (const std::exception& e) {
    return to_answer(Error(ErrorKind::local, e.what()));
  }
}

/// Enters the world. Its process namespace holds only children of this process, so that a child
/// does the work.
[[noreturn]] void enter(const RootlessWorld& world, pid_t parent, Pipe answers,
                        const std::function<std::string(const Cancel&)>& work,
                        const Cancel& cancel) {
  answers.read_end = UniqueFd();
  const int out = answers.write_end.get();
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    ::signal(number, SIG_IGN);  // These signals are for our parent, which notifies us by `cancel`.
  if (::setns(world.process().get(), CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) !=
      0) {
    send_answer(out, to_answer(system_error("entering the user namespace of the nodes", errno)));
    ::_exit(1);
  }
  die_with(parent);  // Entering another user namespace has cleared this.
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pollfd reader{out, 0, 0};
    if (::poll(&reader, 1, 0) > 0) ::_exit(1);  // The parent had ended before it could end us.
    send_answer(out, answer_of(work, cancel));
    ::_exit(0);
  }
  if (worker > 0) wait_for(worker);
  ::_exit(worker > 0 ? 0 : 1);
}

}  // namespace

std::string run_inside(const RootlessWorld& world,
                       const std::function<std::string(const Cancel&)>& work,
                       const Cancel& cancel) {
  Pipe answers = make_pipe();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw system_error("starting a helper", errno);
  if (child == 0) enter(world, parent, std::move(answers), work, cancel);
  answers.write_end = UniqueFd();
  const std::string answer =
      read_to_end(answers.read_end.get(), "reading the answer from the world of the nodes");
  wait_for(child);
  return from_answer(answer);
}

}  // namespace fastgpu::provision::local
