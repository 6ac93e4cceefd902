#include "launcher/job_news.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/protocol/start_lines.hpp"
#include "base/error.hpp"

namespace fastgpu::launcher {
namespace {

std::string log_name(const agent::FrameHeader& header) {
  const std::string stem =
      header.rank == agent::kLauncherRank ? "launcher" : std::to_string(header.rank);
  return stem + (header.stream == agent::OutputStream::out ? ".out" : ".err");
}

/// Takes the time of a message from a node. A message cannot arrive before it is sent, so that of
/// several differences the largest is the best measurement.
void note_clock(std::optional<std::int64_t>& offset, std::int64_t sent) {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  offset = std::max(offset.value_or(sent - now), sent - now);
}

}  // namespace

JobNews::JobNews(const FollowingOptions& options, const std::vector<NodeRanks>& placement,
                 JobObserver& observer, Calls calls)
    : options_(options), placement_(placement), observer_(observer), calls_(std::move(calls)) {}

bool JobNews::has_supervisor(const FollowedNode& node) const {
  return node.ranks.node == options_.supervisor;
}

bool JobNews::may_launch(const FollowedNode& node) const {
  return options_.anywhere || has_supervisor(node);
}

/// Throws unless a node sends data of its own ranks, and the supervisor's node data of the job.
/// Anything else may be an attempt to change how others appear.
void JobNews::check(const FollowedNode& node, const agent::FrameHeader& header) const {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::denied, "sends " + what + "; the node is faulty or compromised");
  };
  const NodeRanks& own = node.ranks;
  const bool is_own = header.rank >= own.first && header.rank < own.first + own.count;
  switch (header.kind) {
    case agent::FrameKind::data:
    case agent::FrameKind::written_at:
      if (is_own || (header.rank == agent::kLauncherRank && may_launch(node))) return;
      if (header.rank == agent::kLauncherRank)
        return refuse("output of mpirun, which runs on " + options_.supervisor->value);
      return refuse("output of rank " + std::to_string(header.rank) + ", which does not run there");
    case agent::FrameKind::rank_status:
      if (is_own) return;
      return refuse("the end of rank " + std::to_string(header.rank) +
                    ", which does not run there");
    case agent::FrameKind::idle:
      if (is_own) return;
      return refuse("news of rank " + std::to_string(header.rank) + ", which does not run there");
    case agent::FrameKind::job_status:
      if (may_launch(node)) return;
      return refuse("the end of the job, which only " + options_.supervisor->value + " reports");
    case agent::FrameKind::batch_nodes:
      if (options_.anywhere) return;
      return refuse("the nodes of a job in Slurm, where the job is not");
    case agent::FrameKind::full_disk:
    case agent::FrameKind::end:
      return;
  }
}

void JobNews::take(FollowedNode& node, const agent::FrameHeader& header, std::string_view bytes) {
  check(node, header);
  switch (header.kind) {
    case agent::FrameKind::data:
      node.offsets[log_name(header)] = header.offset + bytes.size();
      if (header.rank == agent::kLauncherRank) silent_since_.reset();
      if (header.rank == agent::kLauncherRank && header.stream == agent::OutputStream::err)
        take_launcher_words(bytes);
      if (options_.data) observer_.output(header.rank, header.stream, bytes);
      return;
    case agent::FrameKind::written_at:
      if (options_.data)
        observer_.written_at(header.rank, header.stream, static_cast<std::int64_t>(header.offset));
      return;
    case agent::FrameKind::rank_status:
      return take_rank_end(node, header.rank, bytes);
    case agent::FrameKind::full_disk:
      return note_full(node, std::string(bytes));
    case agent::FrameKind::batch_nodes:
      return calls_.when_nodes_are_named(node, bytes, header.offset != 0);
    case agent::FrameKind::idle:
      if (header.offset == 0)
        idle_.erase(header.rank);
      else
        idle_.insert(header.rank);
      if (hangs()) calls_.when_hanging();
      return;
    case agent::FrameKind::job_status:
      launcher_ = agent::parse_job_end(bytes);
      node.complete = true;
      return;
    case agent::FrameKind::end: {
      // Without the supervisor on a node, complete means that all of its ranks have reported their
      // end. A killed one cannot, and is not waited for once the job has ended.
      const auto ended = std::ranges::count_if(ends_, [&](const auto& entry) {
        return entry.first >= node.ranks.first && entry.first < node.ranks.first + node.ranks.count;
      });
      if (!has_supervisor(node)) node.complete = ended == node.ranks.count;
      return;
    }
  }
}

void JobNews::take_rank_end(FollowedNode& node, int rank, std::string_view bytes) {
  agent::RankEnd said = agent::parse_rank_end(bytes);
  if (said.rank != rank)
    throw Error(ErrorKind::denied, "sends the end of rank " + std::to_string(said.rank) +
                                       " as that of rank " + std::to_string(rank));
  if (said.sent) note_clock(node.clock_offset, *said.sent);
  const auto [end, is_new] = ends_.try_emplace(rank, std::move(said));
  if (is_new) reporters_[rank] = &node;
  if (is_new) observer_.rank_ended(end->second, node.ranks.node);
  if (is_new && !end->second.how.ok() && options_.when_rank_fails) options_.when_rank_fails();
  if (!end->second.full.empty()) note_full(node, end->second.full);
}

/// Keeps the last words of the launcher, and reports the nodes that it names as late: not to those
/// that follow a job which began before.
void JobNews::take_launcher_words(std::string_view bytes) {
  keep_tail(launcher_tail_, bytes);
  if (options_.renew_lease == Renewal::no) return;
  for (const std::string& name : agent::parse_late_starts(launcher_tail_)) {
    const bool is_known = std::ranges::any_of(
        placement_, [&](const NodeRanks& ranks) { return ranks.node.value == name; });
    if (is_known && late_.insert(name).second) observer_.starts_late({name}, agent::kLatestStart);
  }
}

void JobNews::look_at_launcher(std::chrono::steady_clock::time_point now) {
  constexpr std::chrono::seconds kToEnd{10};
  const bool is_alone = !launcher_ && options_.supervisor &&
                        ends_.size() == static_cast<std::size_t>(total_ranks(placement_));
  if (!is_alone) return alone_since_.reset();
  if (!alone_since_) {
    alone_since_ = now;
    silent_since_.reset();
  }
  if (!silent_since_) silent_since_ = now;
  const auto limit = options_.hang_timeout;
  if (limit.count() > 0 && now - *silent_since_ >= limit && !std::exchange(has_stayed_, true) &&
      calls_.when_hanging)
    calls_.when_hanging();
  if (now - *alone_since_ < kToEnd || std::exchange(is_stay_reported_, true)) return;
  observer_.launcher_stays(*options_.supervisor, kToEnd);
}

/// Reports a full disk once for each node.
void JobNews::note_full(FollowedNode& node, const std::string& path) {
  if (node.full_disk.empty()) observer_.disk_full(node.ranks.node, path);
  node.full_disk = path;
}

void JobNews::forget_idle(const NodeRanks& ranks) {
  for (int rank = ranks.first; rank < ranks.first + ranks.count; ++rank)
    idle_.erase(rank);
}

bool JobNews::has_failed_rank() const {
  return std::ranges::any_of(
      ends_, [](const auto& end) { return !end.second.told && !end.second.how.ok(); });
}

bool JobNews::hangs() const {
  if (options_.hang_timeout.count() == 0 || launcher_) return false;
  std::set<int> ended;
  for (const auto& [rank, end] : ends_)
    ended.insert(rank);
  return is_hanging(placement_, ended, idle_);
}

bool JobNews::have_others_ended(const FollowedNode& node) const {
  std::size_t others = 0, ended = 0, ordered = 0;
  for (const NodeRanks& ranks : placement_)
    if (ranks.node != node.ranks.node) others += static_cast<std::size_t>(ranks.count);
  for (const auto& [rank, end] : ends_) {
    if (reporters_.at(rank) == &node) continue;
    ++ended;
    if (end.told) ++ordered;
  }
  return ordered > 0 && ended == others;
}

/// Returns how far the clock of the supervisor's node is ahead of ours; absent if no rank there has
/// reported its end.
std::optional<std::int64_t> JobNews::clock_of_supervisor() const {
  for (const auto& [rank, node] : reporters_)
    if (has_supervisor(*node)) return node->clock_offset;
  return std::nullopt;
}

void JobNews::add_to(JobReport& report) const {
  report.placement = placement_;
  for (const auto& [rank, end] : ends_) {
    report.ranks.push_back(end);
    const auto offset = reporters_.at(rank)->clock_offset;
    report.ranks.back().ended = on_our_clock(end.ended, offset);
    if (end.began != 0) report.ranks.back().began = on_our_clock(end.began, offset);
  }
  report.launcher = launcher_;
  if (launcher_) report.launcher->ended = on_our_clock(launcher_->ended, clock_of_supervisor());
  report.launcher_tail = launcher_tail_;
  while (report.launcher_tail.ends_with('\n'))
    report.launcher_tail.pop_back();
  if (hangs()) report.hanging = idle_;
  report.launcher_stayed = has_stayed_;
}

}  // namespace fastgpu::launcher
