// `relay`: a file tree on its way through a chain of nodes: what comes in is put together here, and
// goes on to the next node at the same time.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "agent/disk.hpp"
#include "agent/options.hpp"
#include "base/quote.hpp"
#include "process/child.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/tree_receiver.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A node that takes nothing for so long holds up all behind it, and is given up with them.
constexpr std::chrono::milliseconds kPatience{20'000};
constexpr std::chrono::milliseconds kLongestEnd{600'000};

struct Request {
  std::string from;  ///< Empty: standard input is the stream.
  std::string to;
  std::string config;  ///< Of ssh; below home.
  std::vector<std::string> hosts;
};

Request parse(Arguments arguments) {
  Options options(arguments);
  Request request;
  request.from = options.take_value("--from").value_or("");
  request.to = options.take_value("--to").value_or("");
  request.config = options.take_value("--config").value_or("");
  options.take_flag("--");
  request.hosts = options.take_rest();
  if (request.to.empty()) throw Error(ErrorKind::usage, "relay has no --to");
  return request;
}

/// The rest of the chain. Where it breaks, this node goes on alone: whoever asked looks at every
/// node afterwards.
class Next {
 public:
  explicit Next(const Request& request) {
    if (request.hosts.empty()) return;
    std::vector<std::string> there = {
        "exec",         ".fastgpu/bin/" + fs::read_symlink("/proc/self/exe").filename().string(),
        "relay",        "--to",
        request.to,     "--config",
        request.config, "--"};
    there.insert(there.end(), request.hosts.begin() + 1, request.hosts.end());
    process::Command command{.argv = {"ssh", "-F", below_home(request.config).string(),
                                      request.hosts.front(), shell_join(there)}};
    command.in.mode = process::StreamMode::pipe;
    command.out.mode = process::StreamMode::null;
    command.orphaned = process::Orphaned::is_killed;
    child_.emplace(command);
    ::fcntl(child_->in().get(), F_SETFL, O_NONBLOCK);
  }

  void pass(std::string_view piece) {
    while (child_ && !piece.empty()) {
      const ssize_t put = ::write(child_->in().get(), piece.data(), piece.size());
      if (put > 0) piece.remove_prefix(static_cast<std::size_t>(put));
      if (put < 0 && errno != EINTR && (errno != EAGAIN || !has_room())) child_.reset();
    }
  }

  /// The end of the stream; waits until the next node has all of it.
  void finish() {
    if (!child_) return;
    child_->in() = UniqueFd();
    child_->wait_for(kLongestEnd, nullptr);
  }

 private:
  bool has_room() {
    pollfd fd{child_->in().get(), POLLOUT, 0};
    return ::poll(&fd, 1, static_cast<int>(kPatience.count())) > 0;
  }

  std::optional<process::Child> child_;
};

void send(const Request& request, Next& next) {
  transfer::TreeSender sender({below_home(request.from)}, std::make_shared<transfer::FileSums>());
  while (const auto piece = sender.next())
    next.pass(*piece);
  next.finish();
}

void receive(const Request& request, Next& next) {
  transfer::TreeReceiver receiver(below_home(request.to), transfer::SourceCount::one);
  std::string buffer(256UL * 1024, '\0');
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("reading the stream of files", errno);
    if (got == 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    next.pass(piece);
    receiver.feed(piece);
  }
  receiver.finish();
  next.finish();
}

}  // namespace

int run_relay(Arguments arguments) try {
  const Request request = parse(arguments);
  Next next(request);
  if (request.from.empty())
    receive(request, next);
  else
    send(request, next);
  return 0;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return transfer::failure_status(e.kind());
}

}  // namespace fastgpu::agent
