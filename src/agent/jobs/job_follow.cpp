// `job-follow`: sends a job's logs and outcomes on this node as frames on standard output.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "agent/files/change_watch.hpp"
#include "agent/files/disk.hpp"
#include "agent/jobs/follow_options.hpp"
#include "agent/jobs/frame_writer.hpp"
#include "agent/jobs/full_watch.hpp"
#include "agent/jobs/log_source.hpp"
#include "agent/jobs/peer_watch.hpp"
#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/silence.hpp"
#include "agent/protocol/status.hpp"
#include "agent/pulse.hpp"
#include "agent/subcommands.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The time in which an order to stop reaches all nodes.
constexpr milliseconds kLatestOrder{2'000};

std::optional<JobPlan> followed_plan(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) return std::nullopt;
  return parse_plan(*text);
}

/// Returns the time `ago` before now, in nanoseconds since 1970; 1970 if it is earlier.
std::int64_t time_before_now(milliseconds ago) {
  const std::chrono::nanoseconds now(now_ns());
  if (ago > std::chrono::floor<milliseconds>(now)) return 0;
  return (now - ago).count();
}

/// Returns the record of a job that failed by itself, with whether an order to stop came just after
/// that. Any other record is returned as it is.
std::string with_late_order(const std::string& status, const std::filesystem::path& directory) {
  JobEnd end = parse_job_end(status);
  if (end.cause != StopCause::none || end.how.ok()) return status;
  const auto ordered = time_of_file(directory / kStoppedMark);
  end.ordered = ordered && *ordered <= end.ended + std::chrono::nanoseconds(kLatestOrder).count();
  return end.ordered ? to_text(end) : status;
}

/// Renews the job's lease while this process is alive and calls it often enough, and the machine
/// that it sends to answers.
class Renewal {
 public:
  /// `beats` is the longest time between two calls of hear_beat; 0 if none are expected.
  Renewal(std::filesystem::path lease, milliseconds term, milliseconds beats)
      : lease_(std::move(lease)),
        every_(std::clamp(term / 4, milliseconds(100), kLongest)),
        beats_(beats) {}

  void hear_beat() { heard_ = SteadyClock::now(); }

  milliseconds every() const noexcept { return every_; }

  void renew_when_due() {
    const auto now = SteadyClock::now();
    if (now < due_) return;
    const bool is_silent = beats_.count() > 0 && now - heard_ > beats_;
    if (!is_silent && !peer_.is_gone()) touch(lease_);
    due_ = now + every_;
  }

 private:
  static constexpr milliseconds kLongest{5'000};
  std::filesystem::path lease_;
  milliseconds every_;
  milliseconds beats_;
  PeerWatch peer_;
  SteadyClock::time_point heard_ = SteadyClock::now();
  SteadyClock::time_point due_{};
};

class Follower {
 public:
  explicit Follower(LogFollowOptions options)
      : options_(std::move(options)),
        ranks_(options_.directory / "ranks"),
        full_watch_(ranks_),
        spec_(followed_plan(options_.directory / "spec")),
        rank_plan_(followed_plan(options_.directory / "rank")),
        writer_([this] { renew(); }) {
    const bool has_begun = std::filesystem::exists(options_.directory / "started");
    if ((!spec_ && !rank_plan_) || (options_.needs_begin && !has_begun))
      throw Error(
          ErrorKind::not_found,
          options_.directory.string() + ": the job has not begun there, or its folder was removed");
    if (options_.renew_lease && spec_ && spec_->lease.count() > 0)
      renewal_.emplace(options_.directory / "lease", spec_->lease, options_.beats);
    make_private_directory(ranks_);
    watch_.add(options_.directory);
    watch_.add(ranks_);
  }

  void run() {
    bool last = !options_.follow;
    for (;;) {
      renew();
      watch_.clear();
      // The end is determined before the logs are read, so that they are complete.
      const auto job_end = find_job_end();
      discover();
      send_batch_nodes();
      drain_all();
      send_rank_ends();
      send_idle();
      if (options_.follow && full_watch_.look())
        send_status(FrameKind::full_disk, kLauncherRank, ranks_.string());
      if (job_end) send_status(FrameKind::job_status, kLauncherRank, *job_end);
      if (last || job_end || all_ranks_ended()) break;
      last = wait_for_change();
    }
    writer_.send({.kind = FrameKind::end}, {});
  }

 private:
  void renew() {
    if (!renewal_) return;
    if (options_.beats.count() > 0) has_input_ended();
    renewal_->renew_when_due();
  }

  /// Reads what the client has sent, without waiting. Returns true once it has closed the
  /// connection.
  bool has_input_ended() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, 0) <= 0) return false;
    std::array<char, 64> bytes;
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got > 0 && renewal_) renewal_->hear_beat();
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
  }

  bool wanted(int rank) const { return !options_.ranks || options_.ranks->contains(rank); }

  /// Returns the record of the job's end from the supervisor, or from a batch script, which has no
  /// `spec` beside it where each node has a home directory of its own. Returns a new one if the
  /// supervisor has gone without writing it, or the job was stopped before it began.
  std::optional<std::string> find_job_end() const {
    const auto& directory = options_.directory;
    if (const auto status = read_file(directory / "status"))
      return with_late_order(*status, directory);
    if (!spec_) return std::nullopt;
    // A start that comes after this mark sees it, and does not run the job.
    const bool is_stopped = std::filesystem::exists(directory / kStoppedMark);
    const bool has_begun = std::filesystem::exists(directory / "started");
    if (!has_begun && !is_stopped) return std::nullopt;
    if (has_begun && !try_lock(directory / "lock")) return std::nullopt;
    if (auto status = read_file(directory / "status")) return status;  // It was written just now.
    return to_text(JobEnd{.how = {.code = 0, .signal = has_begun ? SIGKILL : SIGTERM},
                          .ended = now_ns(),
                          .cause = has_begun ? StopCause::vanished : StopCause::request,
                          .host = host_name(),
                          .reason = {}});
  }

  /// Returns true for the logs that are sent. Without data this is the launcher's stderr alone,
  /// because its end explains the end of the job.
  bool is_sent(int rank, OutputStream stream) const {
    if (!wanted(rank)) return false;
    return options_.data || (rank == kLauncherRank && stream == OutputStream::err);
  }

  /// Opens a log. Returns it if it begins where the options say; null otherwise.
  LogSource* open(int rank, OutputStream stream, const std::filesystem::path& path) {
    const auto key = std::tuple(rank, stream);
    if (!is_sent(rank, stream) || sources_.contains(key)) return nullptr;
    LogSource& source = sources_.emplace(key, LogSource(rank, stream, path)).first->second;
    const auto from = options_.from.find(log_name(rank, stream));
    if (from != options_.from.end())
      source.start_at(from->second);
    else if (!options_.data)
      source.start_at_last_bytes(kLauncherTail);
    else if (!discovered_)
      return &source;
    return nullptr;
  }

  /// Leaves out the beginnings of logs of one rank as the options say.
  void begin_late(int rank, std::span<LogSource* const> logs) const {
    if (options_.tail && options_.tail->of == TailOf::rank && rank != kLauncherRank)
      start_at_tail(logs, options_.tail->lines);
    else if (options_.tail)
      for (LogSource* log : logs)
        log->start_at_tail(options_.tail->lines);
    if (!options_.since) return;
    for (LogSource* log : logs) {
      const std::uint64_t tail = log->offset();
      log->start_at_time(time_before_now(*options_.since));
      log->start_at(std::max(tail, log->offset()));
    }
  }

  void open_if_there(int rank, const std::filesystem::path& directory) {
    std::vector<LogSource*> opened;
    for (const auto stream : {OutputStream::out, OutputStream::err}) {
      const auto path = directory / log_name(rank, stream);
      LogSource* const log = std::filesystem::exists(path) ? open(rank, stream, path) : nullptr;
      if (log != nullptr) opened.push_back(log);
    }
    begin_late(rank, opened);
  }

  /// Finds logs and statuses. A rank with a status has written its last byte. Its logs are opened
  /// together with the status, so that the next drain is complete.
  void discover() {
    idle_now_.clear();
    open_if_there(kLauncherRank, options_.directory);
    for (const auto& entry : std::filesystem::directory_iterator(ranks_)) {
      const std::string stem = entry.path().stem();
      const int rank = to_number<int>(stem).value_or(-1);
      if (rank < 0 || !wanted(rank)) continue;
      open_if_there(rank, ranks_);
      if (entry.path().extension() == ".idle") idle_now_.insert(rank);
      if (entry.path().extension() == ".status") ended_.try_emplace(rank, false);
    }
    discovered_ = true;
  }

  /// Sends the time of the next byte, unless it is the one that was sent last for this log.
  void send_time(LogSource& source) {
    auto time = source.time_here();
    if (!time && source.has_more()) {
      source.load_times();
      time = source.time_here();
    }
    // What was written just now is in no index yet.
    if (!time && options_.follow && source.has_more() && source.rank() != kLauncherRank)
      time = now_ns();
    auto& sent = sent_times_[std::tuple(source.rank(), source.stream())];
    if (!time || time == sent) return;
    sent = time;
    writer_.send({.kind = FrameKind::written_at,
                  .stream = source.stream(),
                  .rank = source.rank(),
                  .offset = static_cast<std::uint64_t>(*time)},
                 {});
  }

  bool pump(LogSource& source) {
    if (options_.times) send_time(source);
    const std::uint64_t offset = source.offset();
    const std::size_t got = source.read(buffer_);
    if (got == 0) return false;
    writer_.send({.kind = FrameKind::data,
                  .stream = source.stream(),
                  .rank = source.rank(),
                  .offset = offset},
                 {buffer_.data(), got});
    return true;
  }

  /// Sends all present output. When following, the ranks have turns, so that none delays the
  /// others; otherwise one log is sent after the other.
  void drain_all() {
    if (options_.times && !options_.follow) return drain_by_time();
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [key, source] : sources_) {
        while (pump(source)) {
          moved = true;
          renew();
          if (options_.follow) break;
        }
      }
    }
  }

  /// Sends all present output in the order in which it was written, and then what has no time. It
  /// does not go on with a rank that writes as fast as it reads.
  void drain_by_time() {
    std::vector<std::pair<LogSource*, std::uint64_t>> ends;
    for (auto& [key, source] : sources_) {
      source.load_times();
      ends.emplace_back(&source, source.size());
    }
    for (;;) {
      LogSource* next = nullptr;
      for (const auto& [source, end] : ends)
        if (source->offset() < end && (next == nullptr || time_of(*source) < time_of(*next)))
          next = source;
      if (next == nullptr || !pump(*next)) return;
      renew();
    }
  }

  static std::int64_t time_of(const LogSource& source) {
    return source.time_here().value_or(std::numeric_limits<std::int64_t>::max());
  }

  void send_rank_ends() {
    for (auto& [rank, sent] : ended_) {
      if (sent) continue;
      const auto text = read_file(ranks_ / (std::to_string(rank) + ".status"));
      if (!text) continue;
      RankEnd end = parse_rank_end(*text);
      end.sent = now_ns();
      send_status(FrameKind::rank_status, rank, to_text(end));
      sent = true;
    }
  }

  /// Sends the nodes of a job in Slurm, once they are known, and again once ranks have something to
  /// read there.
  void send_batch_nodes() {
    if (sent_nodes_ == SentNodes::with_output) return;
    const auto news = read_file(options_.directory / kBatchNews);
    if (!news) return;
    std::string_view nodes;
    bool has_output = false;
    for (const std::string_view line : split_lines(*news)) {
      if (line.starts_with(kNewsOfNodes)) nodes = line.substr(kNewsOfNodes.size());
      has_output = has_output || line == kNewsOfOutput;
    }
    const auto now = has_output ? SentNodes::with_output : SentNodes::without_output;
    if (nodes.empty() || nodes.size() > kLargestStatus || now == sent_nodes_) return;
    writer_.send({.kind = FrameKind::batch_nodes, .offset = has_output ? 1U : 0U}, nodes);
    sent_nodes_ = now;
  }

  /// Sends which ranks have become idle, and which are active again.
  void send_idle() {
    const auto send = [&](int rank, std::uint64_t is_idle) {
      writer_.send({.kind = FrameKind::idle, .rank = rank, .offset = is_idle}, {});
    };
    for (const int rank : idle_now_)
      if (!idle_sent_.contains(rank)) send(rank, 1);
    for (const int rank : idle_sent_)
      if (!idle_now_.contains(rank)) send(rank, 0);
    idle_sent_ = idle_now_;
  }

  void send_status(FrameKind kind, int rank, const std::string& text) {
    writer_.send({.kind = kind, .rank = rank}, text);
  }

  /// Returns true if all ranks have ended. On a node without the supervisor, no more output comes
  /// after that.
  bool all_ranks_ended() const {
    if (spec_ || !rank_plan_ || rank_plan_->ranks.empty()) return false;
    return std::ranges::all_of(rank_plan_->ranks, [this](int rank) {
      const auto found = ended_.find(rank);
      return !wanted(rank) || (found != ended_.end() && found->second);
    });
  }

  /// Waits for a change. Returns true once the client has closed the connection; then the present
  /// output is the last that is sent.
  bool wait_for_change() {
    // The limit is needed for a supervisor that disappears.
    milliseconds nap(watch_.fd() >= 0 ? 1'000 : 100);
    if (renewal_) nap = std::min(nap, renewal_->every());
    pollfd fds[] = {{watch_.fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    ::poll(fds, 2, static_cast<int>(nap.count()));
    return fds[1].revents != 0 && has_input_ended();
  }

  LogFollowOptions options_;
  std::filesystem::path ranks_;
  FullWatch full_watch_;
  std::optional<JobPlan> spec_, rank_plan_;
  FrameWriter writer_;
  std::optional<Renewal> renewal_;
  ChangeWatch watch_;
  std::map<std::tuple<int, OutputStream>, LogSource> sources_;
  std::map<std::tuple<int, OutputStream>, std::optional<std::int64_t>> sent_times_;
  std::map<int, bool> ended_;  ///< The ranks with a status, and whether the status was sent.
  std::set<int> idle_now_;     ///< The ranks with a mark.
  std::set<int> idle_sent_;    ///< The ranks that the client knows to be idle.
  bool discovered_ = false;
  enum class SentNodes : std::uint8_t { no, without_output, with_output };
  SentNodes sent_nodes_ = SentNodes::no;
  std::array<char, 65536> buffer_;
};

}  // namespace

int run_job_follow(Arguments arguments) {
  LogFollowOptions options = parse_follow_options(arguments);
  start_pulse(kBetweenFollowPulses);
  Follower(std::move(options)).run();
  return 0;
}

}  // namespace fastgpu::agent
