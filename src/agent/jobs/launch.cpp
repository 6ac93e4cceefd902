// `launch` and `node-ranks`: start the ranks of a job without MPI. `launch` runs on the first node
// and starts `node-ranks` on each node: here as a child, elsewhere by ssh. Each connection is held
// open. It takes lines "set NAME=VALUE", "go", "alive" every second, and "stop"; it answers
// "begun" once its ranks run, "failed" for the first rank that fails, and "ended" after the last
// rank. A node whose connection breaks or is silent ends its ranks. A node that does not begin ends
// the job.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "agent/files/disk.hpp"
#include "agent/jobs/node_names.hpp"
#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/silence.hpp"
#include "agent/protocol/start_lines.hpp"
#include "agent/signals.hpp"
#include "agent/subcommands.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr const char* kBegun = "begun\n";
constexpr const char* kFailed = "failed\n";
constexpr const char* kEnded = "ended\n";

std::string agent_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

/// Returns how long poll() may wait.
int milliseconds_until(SteadyClock::time_point when) {
  const auto left = std::chrono::ceil<milliseconds>(when - SteadyClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

/// Reads what there is. Returns false at the end of the stream.
bool read_ready(const UniqueFd& from, std::string& text) {
  char buffer[4096];
  const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
  if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

bool is_order_to_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == kStopOrder;
}

/// A node of the job, as the hostfile names it.
struct PlainNode {
  std::string name;  ///< The user's name of it.
  process::Child ranks;
  std::string said{};
  std::string complaints{};  ///< The end of the stderr of ssh.
  bool has_output = true;
  bool has_begun = false;
  bool is_late = false;    ///< It has been reported as late.
  bool is_done = false;    ///< All of its ranks have ended.
  bool has_ended = false;  ///< So has the process that started them.
};

struct LaunchOptions {
  std::filesystem::path directory;
  std::string node_command;  ///< The command for a login shell elsewhere.
  std::string ssh_config{};
  milliseconds limit = kLatestStart;     ///< A node that has not begun by then ends the job.
  std::vector<std::string> variables{};  ///< The names of variables for all ranks.
};

LaunchOptions parse_launch(Arguments arguments) {
  OptionReader words(arguments);
  LaunchOptions options{.directory = below_home(words.take_word("the job's directory")),
                        .node_command = words.take_word("the command of a node")};
  if (const auto config = words.take_value("--ssh-config")) options.ssh_config = *config;
  if (const auto limit = words.take_value("--limit"))
    options.limit = milliseconds(parse_number<std::int64_t>(*limit, "--limit"));
  while (const auto name = words.take_value("--pass"))
    options.variables.push_back(*name);
  words.expect_end();
  return options;
}

/// Returns the names of the nodes in the hostfile, in order. The first one is this node.
std::vector<std::string> node_names_in(const std::filesystem::path& hostfile) {
  const auto text = read_file(hostfile);
  if (!text) throw Error(ErrorKind::usage, hostfile.string() + " is missing");
  std::istringstream lines(*text);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);)
    names.push_back(line.substr(0, line.find(' ')));
  return names;
}

class Launch {
 public:
  explicit Launch(const LaunchOptions& options) : limit_(options.limit) {
    const auto names = node_names_in(options.directory / "hostfile");
    std::string start;
    for (const std::string& name : options.variables)
      if (const char* value = ::getenv(name.c_str())) start += "set " + name + "=" + value + "\n";
    start += "go\n";
    for (const std::string& name : names) {
      nodes_.push_back({.name = node_name(options.directory, name),
                        .ranks = process::Child(command_for(options, name))});
      order(nodes_.back(), start);
    }
  }

  /// Runs until all nodes have ended. Returns the exit code of the node that failed first.
  int run(SignalQueue& signals) {
    auto alive_at = SteadyClock::now() + kBetweenLines;
    while (!std::ranges::all_of(nodes_, &PlainNode::has_ended)) {
      wait(signals, alive_at);
      while (const auto number = signals.next())
        if (is_order_to_stop(*number)) stop();
      for (PlainNode& node : nodes_) {
        look_at(node);
        look_for_begin(node);
      }
      // Processes that a rank has left behind are for all ranks: they end with the whole job.
      if (std::ranges::all_of(nodes_, &PlainNode::is_done)) stop();
      if (SteadyClock::now() < alive_at) continue;
      for (PlainNode& node : nodes_)
        order(node, "alive\n");
      alive_at = SteadyClock::now() + kBetweenLines;
    }
    return code_;
  }

 private:
  process::Command command_for(const LaunchOptions& options, const std::string& name) const {
    process::Command command;
    if (nodes_.empty())
      command.argv = {agent_program(), "node-ranks", options.directory.string()};
    else
      command.argv = {agent_program(),     "rsh", "-x", "-F", options.ssh_config, name,
                      options.node_command};
    command.in.mode = command.out.mode = process::StreamMode::pipe;
    if (!nodes_.empty()) command.err.mode = process::StreamMode::pipe;
    return command;
  }

  void wait(const SignalQueue& signals, SteadyClock::time_point until) {
    std::vector<pollfd> fds = {{signals.fd(), POLLIN, 0}};
    for (PlainNode& node : nodes_) {
      fds.push_back({node.has_output ? node.ranks.out().get() : -1, POLLIN, 0});
      fds.push_back({node.ranks.err() ? node.ranks.err().get() : -1, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), milliseconds_until(until));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (fds[2 * i + 1].revents != 0)
        nodes_[i].has_output = read_ready(nodes_[i].ranks.out(), nodes_[i].said);
      if (fds[2 * i + 2].revents != 0) take_complaints(nodes_[i]);
    }
  }

  /// Copies what ssh has written to stderr, and keeps the end of it.
  static void take_complaints(PlainNode& node) {
    constexpr std::size_t kKept = 4096;
    std::string text;
    if (!read_ready(node.ranks.err(), text)) node.ranks.err() = UniqueFd();
    write_all(STDERR_FILENO, text);
    node.complaints += text;
    if (node.complaints.size() > kKept) node.complaints.erase(0, node.complaints.size() - kKept);
  }

  /// Copies the rest of what ssh, which has ended, had written.
  static void take_last_complaints(PlainNode& node) {
    while (node.ranks.err()) {
      pollfd fd{node.ranks.err().get(), POLLIN, 0};
      if (::poll(&fd, 1, 0) <= 0) return;
      take_complaints(node);
    }
  }

  /// Returns "the connection to n1 has failed: WHY\n", with the last line of ssh.
  static std::string failed_connection_line(const PlainNode& node) {
    std::string_view why;
    for (const std::string_view line : split_lines(node.complaints))
      if (const auto text = trimmed(line, " \r"); !text.empty()) why = text;
    return "the connection to " + node.name + " has failed" +
           (why.empty() ? "" : ": " + std::string(why)) + "\n";
  }

  void look_at(PlainNode& node) {
    if (node.said.find(kFailed) != std::string::npos) stop();
    node.is_done = node.is_done || node.said.find(kEnded) != std::string::npos;
    if (node.has_ended) return;
    const auto how = node.ranks.poll();
    if (!how) return;
    node.is_done = node.has_ended = true;
    node.ranks.in() = UniqueFd();
    take_last_complaints(node);
    if (how->ok()) return;
    if (code_ == 0) code_ = how->shell_code();
    constexpr int kConnectionFailed = 255;
    if (how->code == kConnectionFailed) write_all(STDERR_FILENO, failed_connection_line(node));
    stop();
  }

  void look_for_begin(PlainNode& node) {
    node.has_begun = node.has_begun || node.said.find(kBegun) != std::string::npos;
    if (node.has_begun || node.has_ended || stopping_) return;
    const auto waited = SteadyClock::now() - began_;
    if (waited >= std::min<milliseconds>(kLateStart, limit_ / 2) && !node.is_late) {
      node.is_late = true;
      write_all(STDERR_FILENO, late_start_line(node.name));
    }
    if (waited < limit_) return;
    if (code_ == 0) code_ = 1;
    const std::string why = "it has not answered for " + to_string(limit_);
    write_all(STDERR_FILENO, failed_start_line({.node = node.name, .why = why}));
    node.ranks.signal(SIGKILL);
    stop();
  }

  void stop() {
    if (stopping_) return;
    stopping_ = true;
    for (PlainNode& node : nodes_)
      order(node, "stop\n");
  }

  static void order(PlainNode& node, const std::string& line) {
    if (!node.ranks.in()) return;
    try {
      write_all(node.ranks.in().get(), line);
    } catch (const Error&) {
      node.ranks.in() = UniqueFd();  // It has gone, as its status will report.
    }
  }

  std::vector<PlainNode> nodes_;
  milliseconds limit_;
  SteadyClock::time_point began_ = SteadyClock::now();
  bool stopping_ = false;
  int code_ = 0;
};

/// The ranks of this node.
class NodeRanksRun {
 public:
  explicit NodeRanksRun(std::filesystem::path directory) : directory_(std::move(directory)) {}

  int run(SignalQueue& signals) {
    const UniqueFd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    std::string text;
    auto heard = SteadyClock::now();
    while (!may_leave()) {
      pollfd fds[] = {{signals.fd(), POLLIN, 0}, {is_open_ ? in.get() : -1, POLLIN, 0}};
      ::poll(fds, 2, milliseconds_until(heard + kLineSilence));
      if (fds[1].revents != 0) {
        is_open_ = read_ready(in, text);
        heard = SteadyClock::now();
        if (!is_open_) stop();
        take_lines(text);
      }
      while (const auto number = signals.next())
        if (is_order_to_stop(*number)) stop();
      if (SteadyClock::now() >= heard + kLineSilence) {
        stop();
        heard = SteadyClock::now();
      }
      for (Rank& rank : ranks_)
        look_at(rank);
      if (has_begun_ && !is_done_ && std::ranges::all_of(ranks_, &Rank::ended)) {
        is_done_ = true;
        say(kEnded);
      }
    }
    return code_;
  }

 private:
  struct Rank {
    int number = 0;
    process::Child child;
    bool ended = false;
  };

  /// Returns true once all ranks have ended, and the job with them.
  bool may_leave() const { return is_done_ && (is_stopped_ || !is_open_); }

  void say(const char* line) {
    try {
      write_all(STDOUT_FILENO, line);
    } catch (const Error&) {
      is_open_ = false;  // The first node has gone.
    }
  }

  void take_lines(std::string& text) {
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      const std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      if (line.starts_with("set ")) variables_.push_back(line.substr(4));
      if (line == "go") start();
      if (line == "stop") stop();
    }
  }

  void start() {
    if (has_begun_) return;
    has_begun_ = true;
    const auto plan = read_file(directory_ / "rank");
    if (!plan) throw Error(ErrorKind::usage, directory_.string() + " has no plan for ranks");
    const JobPlan ranks = parse_plan(*plan);
    auto environment = process::current_environment();
    for (const std::string& assignment : variables_)
      process::set_variable(environment, assignment);
    process::set_variable(environment, std::string(kJobMarker) + "=" + ranks.id);
    for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
      process::Command command{.argv = {agent_program(), "rank", directory_.string(), "--place",
                                        std::to_string(ranks.ranks[i]) + ":" + std::to_string(i) +
                                            ":" + std::to_string(ranks.world_size)}};
      command.in.mode = command.out.mode = process::StreamMode::null;
      command.environment = environment;
      ranks_.push_back({.number = ranks.ranks[i], .child = process::Child(command)});
    }
    say(kBegun);
  }

  void look_at(Rank& rank) {
    if (rank.ended) return;
    const auto how = rank.child.poll();
    if (!how) return;
    rank.ended = true;
    if (how->ok() || code_ != 0) return;
    code_ = how->shell_code();
    const auto status = directory_ / "ranks" / (std::to_string(rank.number) + ".status");
    const bool has_reported = !read_file(status).value_or("").empty();
    // Only the launcher's own output can name a rank whose agent could not report its end.
    if (!has_reported && !is_stopped_)
      write_all(STDERR_FILENO, "the agent of rank " + std::to_string(rank.number) + " has ended (" +
                                   std::to_string(code_) + ")\n");
    say(kFailed);
    for (Rank& other : ranks_)
      if (!other.ended) other.child.signal(SIGTERM);
  }

  void stop() {
    has_begun_ = is_stopped_ = true;
    for (Rank& rank : ranks_)
      if (!rank.ended) rank.child.signal(SIGTERM);
  }

  std::filesystem::path directory_;
  std::vector<std::string> variables_;
  std::vector<Rank> ranks_;
  bool has_begun_ = false;
  bool is_done_ = false;
  bool is_stopped_ = false;
  bool is_open_ = true;
  int code_ = 0;
};

}  // namespace

int run_launch(Arguments arguments) {
  const LaunchOptions options = parse_launch(arguments);
  SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE, kStopOrder});
  return Launch(options).run(signals);
}

int run_node_ranks(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  options.expect_end();
  SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE, kStopOrder});
  return NodeRanksRun(directory).run(signals);
}

}  // namespace fastgpu::agent
