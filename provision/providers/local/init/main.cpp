// fastgpu-node-init: the first process of a local node. Reads a boot order from its standard input
// and answers once on its standard output; from then on the node lives by itself.
//   fastgpu-node-init boot ROOT-ID/CLUSTER-ID/INDEX
//   fastgpu-node-init probe DIRECTORY [FUSE-OVERLAYFS]   whether nodes can be stored there
//   fastgpu-node-init hold DIRECTORY                     the world of an ordinary user's nodes
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/unique_fd.hpp"
#include "provision/providers/local/init/file_system.hpp"
#include "provision/providers/local/init/fuse.hpp"
#include "provision/providers/local/init/hold.hpp"
#include "provision/providers/local/init/network.hpp"
#include "provision/providers/local/init/supervise.hpp"
#include "provision/providers/local/init/system.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;

pid_t clone_into(std::uint64_t namespaces) {
  clone_args arguments{};
  arguments.flags = namespaces;
  arguments.exit_signal = SIGCHLD;
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

/// Drops rights, so that no program on a node sets this machine's clock or loads drivers by
/// mistake.
void give_up_rights() {
  constexpr std::array kGivenUp = {16UL, 17UL, 25UL};  // SYS_MODULE, SYS_RAWIO, SYS_TIME
  for (const unsigned long capability : kGivenUp)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

void raise_limits() {
  constexpr rlim_t kOpenFiles = 65'536;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min(files.rlim_max, kOpenFiles);
  ::setrlimit(RLIMIT_NOFILE, &files);
  const rlimit memory{RLIM_INFINITY, RLIM_INFINITY};  // RDMA pins memory that it sends.
  ::setrlimit(RLIMIT_MEMLOCK, &memory);
}

/// The handover to the node's first process by its maker.
struct Handover {
  BootOrder order;
  std::optional<NetlinkSocket> outside;  ///< A socket of this machine's network namespace.
  UniqueFd tree;                         ///< The root's file system if we serve it ourselves.
  UniqueFd maker;                        ///< Hangs up when the maker is gone.
  UniqueFd done;                         ///< Closed to release the maker.
};

/// Closes everything that the node has of its maker.
void let_go(Handover& given) {
  let_go_of_streams();
  given.outside.reset();
  given.maker = UniqueFd();
  given.done = UniqueFd();
}

/// Does everything from birth to serving.
void boot(Handover& given) {
  const BootOrder& order = given.order;
  enter_network(order, *given.outside);
  if (::sethostname(order.node_name.c_str(), order.node_name.size()) != 0)
    throw system_error("setting the host name", errno);
  enter_file_system(order, std::move(given.tree));
  give_up_rights();
  raise_limits();
  ::umask(022);
  const int sshd = start_sshd(order.sshd);
  ::prctl(PR_SET_PDEATHSIG, 0);
  if (is_hung_up(given.maker.get()))
    throw Error(ErrorKind::interrupted, "the parent process has ended");
  answer(kReady);
  let_go(given);
  supervise(order.sshd, sshd);
}

std::string failure(const std::exception& e) {
  const auto* error = dynamic_cast<const Error*>(&e);
  const bool full = error != nullptr && error->kind() == ErrorKind::capacity;
  return std::string(full ? kNoRoom : kFailed) + e.what();
}

/// Runs the first process of the node. It never returns: its end is the node's.
[[noreturn]] void live(Handover& given) {
  int status = 0;
  try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is_hung_up(given.maker.get())) ::_exit(1);
    block_signals();
    if (take_lock(given.order.directory + "/lock")) {
      boot(given);
    } else {
      answer(kHeld);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    answer(failure(e));
    status = 1;
  }
  ::_exit(status);
}

/// Makes the node's first process and stays until it has answered: dying before that ends it too.
int make_node() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (is_hung_up(STDOUT_FILENO)) return 1;
  Handover given;
  given.order = decode(read_text("/proc/self/fd/0"));
  given.outside.emplace();
  if (!given.order.fuse_overlayfs.empty())
    given.tree = serve_overlay(given.order.fuse_overlayfs, given.order.overlays.front());
  Pipe alive = make_pipe();
  Pipe done = make_pipe();
  pid_t child = clone_into(kNamespaces | CLONE_NEWCGROUP);
  if (child < 0 && errno == EINVAL) child = clone_into(kNamespaces);
  if (child < 0) throw system_error("making the node's namespaces", errno);
  if (child == 0) {
    given.maker = std::move(alive.read_end);
    alive.write_end = UniqueFd();
    done.read_end = UniqueFd();
    given.done = std::move(done.write_end);
    live(given);
  }
  done.write_end = UniqueFd();
  given.tree = UniqueFd();
  pollfd wait{done.read_end.get(), 0, 0};
  while (::poll(&wait, 1, -1) < 0 && errno == EINTR) {
  }
  return 0;
}

int probe(const std::string& directory, const std::string& fuse_overlayfs) {
  for (const char* folder : {"/upper", "/work", "/merged"})
    make_directory(directory + folder, 0700);
  const OverlayOrder overlay{"/", directory};
  UniqueFd tree = fuse_overlayfs.empty() ? UniqueFd() : serve_overlay(fuse_overlayfs, overlay);
  if (::unshare(CLONE_NEWNS) != 0) throw system_error("making a mount namespace", errno);
  try_overlay(overlay, std::move(tree));
  return 0;
}

int run(std::span<char*> arguments) {
  const std::string verb = arguments.size() > 1 ? arguments[1] : "";
  try {
    if (verb == "boot") return make_node();
    if (verb == "probe" && arguments.size() > 2)
      return probe(arguments[2], arguments.size() > 3 ? arguments[3] : "");
    if (verb == "hold" && arguments.size() > 2) return hold_world(arguments[2]);
    std::fprintf(stderr, "fastgpu-node-init is started by fastgpu alone\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    if (verb == "boot" || verb == "hold") answer(failure(e));
  }
  return 1;
}

}  // namespace
}  // namespace fastgpu::provision::local

int main(int count, char** arguments) {
  ::close_range(3, ~0U, 0);
  return fastgpu::provision::local::run({arguments, static_cast<std::size_t>(count)});
}
