// `relay`: receives a file tree and passes it on to the next node of a chain at the same time. With
// --report each node reports its outcome, and a node that cannot store the tree still passes it on.
// With --build the tree is a build of an environment, which is removed if it differs from its
// manifest. With --early the build is still being made, and standard input has its progress. With
// --out the stream goes to standard output, for the client. `relay-report`: returns the outcome
// later.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>

#include "agent/environments/checked.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/environments/order.hpp"
#include "agent/environments/sum_lines.hpp"
#include "agent/files/disk.hpp"
#include "agent/options.hpp"
#include "base/cancel.hpp"
#include "base/hex.hpp"
#include "base/login_shell.hpp"
#include "base/quote.hpp"
#include "base/units.hpp"
#include "process/child.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/node_path.hpp"
#include "transfer/pace.hpp"
#include "transfer/relay_report.hpp"
#include "transfer/tree_receiver.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// How long to wait for a node that takes no data. Then it is given up, together with all nodes
/// behind it. It also delays the nodes before it; therefore a node with more nodes behind it waits
/// longer, or they would give up each other. The limit is longer than ssh needs to detect a lost
/// connection.
constexpr std::chrono::milliseconds kRelayTimeout{30'000};
constexpr std::chrono::milliseconds kTimeoutPerNode{1'000};
constexpr std::chrono::milliseconds kLongestEnd{600'000};
/// How long to wait for any data. An idle sender sends signs of life; without these, the previous
/// node has disappeared without notice. TCP itself would wait for hours.
constexpr std::chrono::milliseconds kLongestSilence{600'000};
constexpr std::chrono::milliseconds kBeat{5'000};
constexpr std::size_t kMostReports = 8 << 20;
constexpr std::uintmax_t kSpared = 1UL << 30;

struct RelayRequest {
  std::string from;  ///< Empty if standard input is the stream.
  std::string to;
  std::string config;  ///< The path of the ssh configuration, relative to the home directory.
  std::vector<std::string> hosts;
  transfer::SourceCount count = transfer::SourceCount::one;
  std::string id;  ///< The key of the reports; empty for no reports.
  std::optional<transfer::Resumption> resumption{};
  std::optional<BitRate> rate{};  ///< The limit on the traffic of the first node.
  std::chrono::milliseconds silence = kLongestSilence;
  bool is_build = false;
  bool is_out = false;
  bool is_early = false;  ///< The build is not finished, so that its size is unknown.
  std::string base{};     ///< Another build that all nodes have; may be empty.

  bool reports() const { return is_early || !id.empty(); }
};

/// How long reports are kept for requests.
constexpr std::chrono::hours kKept{24};

fs::path reports_directory() {
  return below_home(".fastgpu/relays");
}

fs::path report_file(const std::string& id) {
  if (!is_hex(id))
    throw Error(ErrorKind::usage, "'" + printable(id) + "' is not an identity of a copy");
  return reports_directory() / id;
}

void keep_report(const std::string& id, const std::string& line) {
  if (id.empty()) return;
  make_private_directory(reports_directory());
  write_atomically(report_file(id), line);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(reports_directory(), ignored))
    if (entry.last_write_time(ignored) < fs::file_time_type::clock::now() - kKept)
      fs::remove(entry.path(), ignored);
}

RelayRequest parse_relay(Arguments arguments) {
  OptionReader options(arguments);
  RelayRequest request;
  request.from = options.take_value("--from").value_or("");
  request.to = options.take_value("--to").value_or("");
  request.config = options.take_value("--config").value_or("");
  if (options.take_flag("--several")) request.count = transfer::SourceCount::several;
  request.is_build = options.take_flag("--build");
  request.is_early = options.take_flag("--early");
  request.is_out = options.take_flag("--out");
  request.base = options.take_value("--base").value_or("");
  request.id = options.take_value("--report").value_or("");
  if (const auto text = options.take_value("--resume"))
    request.resumption = transfer::parse_resumption(*text);
  if (const auto text = options.take_value("--limit-rate")) request.rate = parse_bit_rate(*text);
  if (const auto text = options.take_value("--silence")) request.silence = parse_duration(*text);
  options.take_flag("--");
  request.hosts = options.take_rest();
  if (request.to.empty()) throw Error(ErrorKind::usage, "relay has no --to");
  return request;
}

/// Enlarges a pipe, so that both sides are woken less often. Has no effect on other files.
void widen(int pipe) {
  constexpr int kBytes = 1 << 20;  // The maximum that Linux allows.
  ::fcntl(pipe, F_SETPIPE_SZ, kBytes);
}

/// The rest of the chain. If it breaks, this node continues alone, because the client checks every
/// node afterwards.
class Next {
 public:
  explicit Next(const RelayRequest& request)
      : reports_(request.reports()),
        is_out_(request.is_out),
        timeout_(kRelayTimeout + request.hosts.size() * kTimeoutPerNode) {
    if (request.hosts.empty()) return;
    std::vector<std::string> there = {"relay", "--to", request.to, "--config", request.config};
    if (request.count == transfer::SourceCount::several) there.emplace_back("--several");
    if (request.is_build) there.emplace_back("--build");
    if (request.is_early) there.emplace_back("--early");
    if (!request.base.empty()) there.insert(there.end(), {"--base", request.base});
    if (!request.id.empty()) there.insert(there.end(), {"--report", request.id});
    if (request.resumption) there.insert(there.end(), {"--resume", to_text(*request.resumption)});
    there.emplace_back("--");
    there.insert(there.end(), request.hosts.begin() + 1, request.hosts.end());
    const std::string program = fs::read_symlink("/proc/self/exe").filename().string();
    const std::string script = "exec ~/.fastgpu/bin/" + program + " " + shell_join(there);
    process::Command command{.argv = {"ssh", "-F", below_home(request.config).string(), "-o",
                                      "ServerAliveInterval=5", request.hosts.front(),
                                      login_shell_command(script)}};
    command.in.mode = process::StreamMode::pipe;
    command.out.mode = reports_ ? process::StreamMode::pipe : process::StreamMode::null;
    command.on_parent_death = process::OnParentDeath::kill;
    child_.emplace(command);
    ::fcntl(child_->in().get(), F_SETFL, O_NONBLOCK);
    widen(child_->in().get());
  }

  void pass(std::string_view piece) {
    if (is_out_) write_all(STDOUT_FILENO, piece);
    while (child_ && !piece.empty()) {
      const ssize_t put = ::write(child_->in().get(), piece.data(), piece.size());
      if (put > 0) piece.remove_prefix(static_cast<std::size_t>(put));
      if (put < 0 && errno != EINTR && (errno != EAGAIN || !has_room())) child_.reset();
    }
  }

  /// Ends the stream and waits until the next node has all of it. Returns the reports of the next
  /// node and of those behind it; distances count from the next node.
  std::vector<transfer::RelayReport> finish() {
    if (!child_) return {};
    child_->in() = UniqueFd();
    std::string text;
    if (reports_) text = read_reports();
    child_->wait_for(kLongestEnd, nullptr);
    return transfer::parse_reports(text);
  }

 private:
  std::string read_reports() {
    std::string text;
    std::string buffer(4096, '\0');
    pollfd fd{child_->out().get(), POLLIN, 0};
    while (text.size() < kMostReports &&
           ::poll(&fd, 1, static_cast<int>(kLongestEnd.count())) > 0) {
      const ssize_t got = ::read(fd.fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      text.append(buffer, 0, static_cast<std::size_t>(got));
    }
    return text;
  }

  bool has_room() {
    pollfd fd{child_->in().get(), POLLOUT, 0};
    return ::poll(&fd, 1, static_cast<int>(timeout_.count())) > 0;
  }

  bool reports_;
  bool is_out_;
  std::chrono::milliseconds timeout_;
  std::optional<process::Child> child_;
};

/// Returns the files of a build whose order is known; null for other trees.
transfer::FirstFiles first_files(const RelayRequest& request, const fs::path& source) {
  if (!request.is_build) return {};
  const auto files = std::make_shared<OrderedFiles>(
      source, request.is_early ? std::optional(STDIN_FILENO) : std::nullopt);
  return [files](bool may_wait) { return (*files)(may_wait); };
}

/// Reports the checksums of sent files, so that the building agent need not read these files again.
class SentSums {
 public:
  explicit SentSums(fs::path source) : source_(std::move(source)) {}

  void operator()(const std::string& file, const transfer::Digest& sum) const {
    const std::string path = file.substr(source_.string().size() + 1);
    if (path.find('\n') == path.npos) write_all(STDOUT_FILENO, to_sum_line(path, sum));
  }

 private:
  fs::path source_;
};

std::string to_lines(const std::vector<transfer::RelayReport>& reports) {
  std::string text;
  for (const transfer::RelayReport& report : reports)
    text += to_line(report);
  return text;
}

/// Passes on a stream whose sender may pause. During a pause, sends signs of life to the nodes
/// behind.
class SteadyStream {
 public:
  explicit SteadyStream(Next& next) : next_(next) {}

  void pass(std::string_view piece) {
    const auto now = std::chrono::steady_clock::now();
    std::string alive;
    if (piece.empty() && now - last_ >= kBeat) {
      encode(alive, transfer::AliveRecord{});
      piece = alive;
    }
    if (piece.empty()) return;
    last_ = now;
    next_.pass(piece);
  }

 private:
  Next& next_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void send(const RelayRequest& request, Next& next) {
  const auto from = request.resumption ? request.resumption->from : transfer::Position();
  const fs::path source = below_home(request.from);
  const KnownSums in_base =
      request.base.empty() ? KnownSums() : files_in_both(source, below_home(request.base));
  transfer::TreeSender sender(
      {source}, std::make_shared<transfer::FileSums>(), from,
      [&](const std::string& path) {
        const auto found = in_base.find(path);
        return found == in_base.end() ? std::nullopt : std::optional(found->second);
      },
      first_files(request, source), request.is_early ? SentSums{source} : transfer::OnSent());
  transfer::Pace pace(request.rate);
  SteadyStream stream(next);
  const Cancel never;
  try {
    while (const auto piece = sender.next()) {
      pace.pass(piece->size(), never);
      stream.pass(*piece);
    }
  } catch (const BuildGivenUp&) {
    std::string last;
    encode(last, transfer::GivenUpRecord{});
    next.pass(last);
  }
  const auto reports = next.finish();
  if (request.is_early) write_all(STDOUT_FILENO, to_lines(reports));
}

/// A copy that may fail on this node. The whole stream is still read, for the nodes behind.
class Receiver {
 public:
  explicit Receiver(const RelayRequest& request)
      : to_(transfer::below_home(request.to)),
        is_build_(request.is_build),
        is_early_(request.is_early),
        base_(below_home(request.base)) {
    attempt([&] {
      if (is_early_ && fs::exists(to_))  // The node shares the place with the building node.
        throw Error(ErrorKind::conflict, to_.string() + " is there already");
      tree_.emplace(to_, request.count, request.resumption,
                    is_build_ ? [this](const auto& file) { know(file); } : transfer::OnFile(),
                    request.base.empty() ? transfer::BaseTree() : known_base());
    });
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void feed(std::string_view piece) {
    attempt([&] {
      if (is_early_) check_room();
      tree_->feed(piece);
    });
  }

  void finish() {
    attempt([&] {
      tree_->finish();
      if (is_build_) check_build();
    });
  }

  const std::optional<Error>& failure() const { return failure_; }

  transfer::RelayReport report() const {
    if (failure_) return {0, transfer::failure_status(failure_->kind()), failure_->what()};
    return {0, 0, hex(*tree_->account())};  // A complete tree has an account.
  }

 private:
  void attempt(const std::function<void()>& work) {
    if (failure_) return;
    try {
      work();
    } catch (const Error& e) {
      failure_ = e;
      tree_.reset();
    }
  }

  /// Returns the base. Its checksum of a file counts only if the file was not changed since its
  /// build was checked.
  transfer::BaseTree known_base() {
    const auto manifest = std::make_shared<Manifest>(base_);
    return {.root = base_, .known_sum = [manifest](const auto& path, const auto& status) {
              return manifest->sum_if_untouched(path, status);
            }};
  }

  void know(const transfer::ReceivedFile& file) {
    received_.insert_or_assign(file.path.substr(file.path.find('/') + 1), file);
  }

  /// Throws if too little space is left: a build that may not fit must not take the space of other
  /// users of the disk.
  void check_room() const {
    std::error_code unknown;
    const fs::space_info space = fs::space(to_.parent_path(), unknown);
    if (!unknown && space.available < std::min(kSpared, space.capacity / 16))
      throw Error(ErrorKind::capacity, "there is no room for the build in " + to_.string());
  }

  /// Checks the build. Reads only the files from before an interruption again.
  void check_build() const {
    const VerifyAnswer found = verify_manifest(to_, received_);
    if (found.damaged.empty()) return note_checked(to_, found.manifest);
    fs::remove_all(to_);
    throw Error(
        ErrorKind::remote,
        to_.string() + ": the copy of the build was damaged on the way: " + found.damaged.front());
  }

  fs::path to_;
  bool is_build_;
  bool is_early_;
  fs::path base_;
  ReceivedFiles received_;  // The files of a build.
  std::optional<transfer::TreeReceiver> tree_;
  std::optional<Error> failure_;
};

void write_reports(const std::string& own, std::vector<transfer::RelayReport> behind) {
  for (transfer::RelayReport& report : behind)
    ++report.distance;
  write_all(STDOUT_FILENO, own + to_lines(behind));
}

/// Waits for input. Returns false after too long a silence.
bool await_input(std::chrono::milliseconds silence) {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  int ready = 0;
  do
    ready = ::poll(&in, 1, static_cast<int>(silence.count()));
  while (ready < 0 && errno == EINTR);
  return ready != 0;
}

void receive(const RelayRequest& request, Next& next) {
  Receiver receiver(request);
  widen(STDIN_FILENO);
  std::string buffer(256UL * 1024, '\0');
  while (request.reports() || !receiver.failure()) {
    if (!await_input(request.silence)) break;  // Handled like an interrupted stream.
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("reading the stream of files", errno);
    if (got == 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    next.pass(piece);
    receiver.feed(piece);
  }
  receiver.finish();
  keep_report(request.id, to_line(receiver.report()));
  auto behind = next.finish();
  if (request.reports())
    write_reports(to_line(receiver.report()), std::move(behind));
  else if (receiver.failure())
    throw Error(*receiver.failure());
}

}  // namespace

int run_relay(Arguments arguments) try {
  const RelayRequest request = parse_relay(arguments);
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

int run_relay_report(Arguments arguments) {
  OptionReader options(arguments);
  const auto line = read_file(report_file(options.take_word("the copy")));
  options.expect_end();
  if (line) write_all(STDOUT_FILENO, *line);
  return 0;
}

}  // namespace fastgpu::agent
