#include "launcher/following.hpp"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <utility>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/silence.hpp"
#include "base/ascii.hpp"
#include "base/pulse.hpp"
#include "base/wait.hpp"
#include "launcher/linked_cancel.hpp"

namespace fastgpu::launcher {
namespace {

using agent::FrameKind;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The grace of a follower that is asked to end; the rest is caught up.
constexpr milliseconds kGrace{500};
constexpr milliseconds kBetweenTries{500};
constexpr milliseconds kCatchUp{60'000};
/// The time for the last ranks of a failed job, once their nodes are reached. They are killed
/// sooner.
constexpr milliseconds kLastOutput{2'500};
/// The time for one more connection to a node that was reachable a moment ago: a dead one is named
/// soon.
constexpr milliseconds kOnceMore{4'000};
/// The same for a node that has been silent already.
constexpr milliseconds kSilentOnceMore{1'300};

/// The time for the agent where it is missing.
constexpr milliseconds kInstallTime{60'000};

class SilentObserver final : public JobObserver {
 public:
  void output(int, agent::OutputStream, std::string_view) override {}
};

std::string log_name(const agent::FrameHeader& header) {
  const std::string stem =
      header.rank == agent::kLauncherRank ? "launcher" : std::to_string(header.rank);
  return stem + (header.stream == agent::OutputStream::out ? ".out" : ".err");
}

void keep_tail(std::string& tail, std::string_view bytes) {
  tail += bytes;
  if (tail.size() > agent::kLauncherTail) tail.erase(0, tail.size() - agent::kLauncherTail);
}

bool may_pass(ErrorKind kind) {
  return kind == ErrorKind::transient || kind == ErrorKind::timeout;
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

Following::Following(ssh::Client& client, std::vector<ssh::Host> hosts,
                     std::vector<NodeRanks> placement, NodeCommands commands,
                     FollowingOptions options, JobObserver& observer)
    : client_(client),
      placement_(std::move(placement)),
      commands_(std::move(commands)),
      options_(std::move(options)),
      observer_(observer) {
  if (!options_.supervisor && !placement_.empty()) options_.supervisor = placement_.front().node;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    nodes_.push_back({.host = std::move(hosts[i]), .ranks = placement_.at(i)});
}

void Following::run(const Cancel& cancel) {
  for (Node& node : nodes_)
    node.heard_at = SteadyClock::now();
  while (!job_ended() && !cancel.requested()) {
    run_once(cancel);
    if (install_agents(kInstallTime, cancel)) continue;
    if (job_ended() || cancel.requested() || find_lost() || hangs()) break;
    wait_or_cancel(kBetweenTries, cancel);
  }
  if (job_ended()) collect_rest();
}

/// Reads the nodes' remaining output after the job's end. A node without an answer, whose ranks
/// have not reported their end, is the cause of a job that failed for no other known reason.
void Following::collect_rest() {
  std::vector<Node*> nodes = incomplete();
  const Cancel never;
  const bool is_silent = std::ranges::any_of(nodes, &Node::is_broken);
  const milliseconds limit = is_silent ? kSilentOnceMore : kOnceMore;
  auto results = read_once(kCatchUp, limit, Wait::no, never);
  for (std::size_t i = 0; i < results.size(); ++i)
    note_missing_agent(*nodes[i], results[i], nodes[i]->complaint);
  if (install_agents(kInstallTime, never)) {
    nodes = incomplete();
    results = read_once(kCatchUp, limit, Wait::no, never);
  }
  const bool rank_failed = std::ranges::any_of(
      ends_, [](const auto& end) { return !end.second.told && !end.second.how.ok(); });
  if (launcher_->how.ok()) return;
  bool is_reached = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok() || !may_pass(results[i].error().kind())) continue;
    is_reached = false;
    if (rank_failed)
      unreached_.push_back(nodes[i]->ranks.node);
    else
      lost_.push_back({nodes[i]->ranks.node, results[i].error().what()});
  }
  // Ranks that were asked to end may still have output.
  if (is_reached) read_once(kLastOutput, limit, Wait::yes, never);
}

void Following::run_once(const Cancel& cancel) {
  const std::vector<Node*> nodes = incomplete();
  std::list<FrameDecoder> decoders;
  std::vector<ssh::Task> tasks;
  std::optional<Beats> beats;
  const bool is_behind =
      std::ranges::any_of(nodes, [&](const Node* node) { return needs_beats(*node); });
  if (is_behind) beats.emplace(options_.input != nullptr ? options_.input->wake() : -1);
  beats_ = beats ? &*beats : nullptr;
  for (Node* node : nodes) {
    decoders.emplace_back([this, node](const agent::FrameHeader& header, std::string_view bytes) {
      take(*node, header, bytes);
    });
    tasks.push_back(task_for(*node, decoders.back(), true));
  }
  const std::vector<Node*> fed = waiting_for_input();
  for (Node* node : fed)
    tasks.push_back(input_task(*node));
  LinkedCancel stop(cancel);
  end_round_ = [&stop] { stop.request(); };
  std::optional<Error> final_answer;
  ssh::RunOptions options;
  options.width = static_cast<int>(tasks.size());
  options.grace = kGrace;
  options.connect_timeout = limit_for(nodes);
  if (options_.input != nullptr) options.wake = options_.input->wake();
  if (beats) options.wake = beats->wake();
  options.on_finished = [&](std::size_t i, const HostResult<ssh::Exit>& result) {
    const bool asked = stop.both().requested();
    if (job_ended()) stop.request();  // The others have nothing more to wait for.
    if (asked || (i < nodes.size() && nodes[i]->complete)) return;
    try {
      const bool is_well = i < nodes.size() ? note_result(*nodes[i], result)
                                            : note_input_result(*fed[i - nodes.size()], result);
      if (!is_well) stop.request();
    } catch (const Error& e) {
      final_answer = e;
      stop.request();
    }
  };
  client_.run(std::move(tasks), options, stop.both());
  end_round_ = nullptr;
  beats_ = nullptr;
  if (final_answer && !job_ended() && !cancel.requested()) throw Error(*final_answer);
}

/// Returns the nodes whose ranks may need more input.
std::vector<Following::Node*> Following::waiting_for_input() {
  std::vector<Node*> nodes;
  if (options_.input == nullptr) return nodes;
  for (Node& node : nodes_)
    if (!node.input_done && (options_.input_to == Input::all || &node == nodes_.data()))
      nodes.push_back(&node);
  return nodes;
}

std::size_t Following::taker_of(const Node& node) const {
  return static_cast<std::size_t>(&node - nodes_.data());
}

/// Takes lines with the number of bytes that all of the node's ranks have received.
void Following::take_input_answer(Node& node, std::string_view bytes) {
  constexpr std::size_t kLongestNumber = 20;
  for (const char c : bytes) {
    const bool is_digit = is_ascii_digit(c);
    if (c == '\n' && !node.input_answer.empty()) {
      options_.input->finish(taker_of(node), std::strtoull(node.input_answer.c_str(), nullptr, 10));
      node.input_answer.clear();
    } else if (is_digit && node.input_answer.size() < kLongestNumber) {
      node.input_answer += c;
    } else {
      throw Error(ErrorKind::remote, "sent an invalid answer: not a number of bytes");
    }
  }
}

/// Brings standard input to the node, from the place that the last such connection had reached.
ssh::Task Following::input_task(Node& node) {
  remote::SharedInput& input = *options_.input;
  input.rewind(taker_of(node));
  node.input_answer.clear();
  node.input_complaint.clear();
  ssh::Task task{.host = node.host, .command = commands_.input()};
  task.next_input = remote::framed_input(input, taker_of(node), remote::Finished::later);
  task.hold_input_open = true;
  task.on_stdout = [this, &node](std::string_view bytes) { take_input_answer(node, bytes); };
  task.on_stderr = [&node](std::string_view bytes) { keep_tail(node.input_complaint, bytes); };
  return task;
}

ssh::Task Following::task_for(Node& node, FrameDecoder& decoder, bool wait) {
  NodeCommands::Follow what{.ranks = options_.ranks, .tail = options_.tail};
  what.since = options_.since;
  what.times = options_.times;
  what.continues = !node.offsets.empty();
  what.wait = wait;
  what.data = options_.data;
  what.renew_lease = options_.renew_lease == Renewal::yes && has_supervisor(node);
  what.begun = options_.needs_begin && has_supervisor(node);
  what.beats = beats_ != nullptr && needs_beats(node);
  node.complaint.clear();
  for (int rank = node.ranks.first; rank < node.ranks.first + node.ranks.count; ++rank)
    idle_.erase(rank);  // The node reports them anew.
  ssh::Task task{.host = node.host, .command = commands_.follow(what)};
  task.hold_input_open = wait;
  task.most_output = ssh::kEndless;
  task.silence = agent::kFollowSilence;
  if (what.continues || what.beats)
    task.next_input = [offsets = what.continues ? std::optional(NodeCommands::offsets(node.offsets))
                                                : std::nullopt,
                       beats = what.beats ? beats_ : nullptr]() mutable {
      if (offsets || beats == nullptr) return std::exchange(offsets, std::nullopt);
      return std::optional(beats->take());
    };
  task.on_stdout = [&node, &decoder](std::string_view bytes) {
    hear(node);
    decoder.feed(bytes);
  };
  task.on_stderr = [&node](std::string_view bytes) {
    hear(node);
    keep_tail(node.complaint, without_pulses(bytes));
  };
  return task;
}

/// Notes a sign of life.
void Following::hear(Node& node) {
  node.heard_at = SteadyClock::now();
  node.is_broken = false;
}

/// Returns the limit for connections to the nodes: absent before the first one has broken.
std::optional<milliseconds> Following::limit_for(std::span<Node* const> nodes) const {
  std::optional<milliseconds> silence;
  for (const Node* node : nodes) {
    const auto own = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - node->heard_at);
    if (node->is_broken) silence = std::max(silence.value_or(own), own);
  }
  return silence ? std::optional(connect_limit(*silence)) : std::nullopt;
}

/// Returns true for a node whose kernel would not notice that this machine has vanished.
bool Following::needs_beats(const Node& node) const {
  return options_.renew_lease == Renewal::yes && has_supervisor(node) &&
         is_behind_another(node.host);
}

bool Following::has_supervisor(const Node& node) const {
  return node.ranks.node == options_.supervisor;
}

bool Following::may_launch(const Node& node) const {
  return options_.anywhere || has_supervisor(node);
}

/// Throws unless a node sends data of its own ranks, and the supervisor's node data of the job.
/// Anything else may be an attempt to change how others appear.
void Following::check(const Node& node, const agent::FrameHeader& header) const {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::denied, "sends " + what + "; the node is faulty or compromised");
  };
  const NodeRanks& own = node.ranks;
  const bool is_own = header.rank >= own.first && header.rank < own.first + own.count;
  switch (header.kind) {
    case FrameKind::data:
    case FrameKind::written_at:
      if (is_own || (header.rank == agent::kLauncherRank && may_launch(node))) return;
      if (header.rank == agent::kLauncherRank)
        return refuse("output of mpirun, which runs on " + options_.supervisor->value);
      return refuse("output of rank " + std::to_string(header.rank) + ", which does not run there");
    case FrameKind::rank_status:
      if (is_own) return;
      return refuse("the end of rank " + std::to_string(header.rank) +
                    ", which does not run there");
    case FrameKind::idle:
      if (is_own) return;
      return refuse("news of rank " + std::to_string(header.rank) + ", which does not run there");
    case FrameKind::job_status:
      if (has_supervisor(node)) return;
      return refuse("the end of the job, which only " + options_.supervisor->value + " reports");
    case FrameKind::full_disk:
    case FrameKind::end:
      return;
  }
}

void Following::take(Node& node, const agent::FrameHeader& header, std::string_view bytes) {
  check(node, header);
  switch (header.kind) {
    case FrameKind::data:
      node.offsets[log_name(header)] = header.offset + bytes.size();
      if (header.rank == agent::kLauncherRank && header.stream == agent::OutputStream::err)
        keep_tail(launcher_tail_, bytes);
      if (options_.data) observer_.output(header.rank, header.stream, bytes);
      return;
    case FrameKind::written_at:
      if (options_.data)
        observer_.written_at(header.rank, header.stream, static_cast<std::int64_t>(header.offset));
      return;
    case FrameKind::rank_status: {
      agent::RankEnd said = agent::parse_rank_end(bytes);
      if (said.rank != header.rank)
        throw Error(ErrorKind::denied, "sends the end of rank " + std::to_string(said.rank) +
                                           " as that of rank " + std::to_string(header.rank));
      if (said.sent) note_clock(node.clock_offset, *said.sent);
      const auto [end, is_new] = ends_.try_emplace(header.rank, std::move(said));
      if (is_new) reporters_[header.rank] = &node;
      if (is_new) observer_.rank_ended(end->second, node.ranks.node);
      if (!end->second.full.empty()) note_full(node, end->second.full);
      return;
    }
    case FrameKind::full_disk:
      return note_full(node, std::string(bytes));
    case FrameKind::idle:
      if (header.offset == 0)
        idle_.erase(header.rank);
      else
        idle_.insert(header.rank);
      if (hangs() && end_round_) end_round_();
      return;
    case FrameKind::job_status:
      launcher_ = agent::parse_job_end(bytes);
      node.complete = true;
      return;
    case FrameKind::end: {
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

/// Reports a full disk once for each node.
void Following::note_full(Node& node, const std::string& path) {
  if (node.full_disk.empty()) observer_.disk_full(node.ranks.node, path);
  node.full_disk = path;
}

/// Takes a node's result. Returns false if the node could not be reached; throws if its answer is
/// final.
bool Following::note_result(Node& node, const HostResult<ssh::Exit>& result) {
  if (result.ok() && result.value().code() == 0) return true;
  if (note_missing_agent(node, result, node.complaint)) return false;
  const Error error =
      result.ok() ? Error(ErrorKind::remote,
                          node.complaint.empty()
                              ? "the agent ended with " + std::to_string(result.value().code())
                              : node.complaint.substr(0, node.complaint.find_last_not_of('\n') + 1))
                  : result.error();
  // An agent that was killed is started again; one that refuses is not.
  const bool killed = result.ok() && result.value().code() > 128;
  if (!killed && !may_pass(error.kind())) throw error.during(node.ranks.node.value);
  if (!std::exchange(node.is_broken, true)) observer_.connection_lost(node.ranks.node, error);
  node.silence = error.what();
  return false;
}

/// Returns whether a node lacks the agent, and is to get it.
bool Following::note_missing_agent(Node& node, const HostResult<ssh::Exit>& result,
                                   std::string_view complaint) const {
  if (!options_.agent || node.got_agent || !result.ok()) return false;
  if (!remote::agent_missing(options_.agent->hash, result.value(), complaint)) return false;
  return node.lacks_agent = true;
}

/// Installs the agent where it is missing, once. Returns whether there was such a node.
bool Following::install_agents(milliseconds limit, const Cancel& cancel) {
  std::vector<Node*> without;
  std::vector<ssh::Host> hosts;
  for (Node& node : nodes_) {
    if (!std::exchange(node.lacks_agent, false)) continue;
    node.got_agent = true;
    without.push_back(&node);
    hosts.push_back(node.host);
  }
  if (without.empty() || cancel.requested()) return false;
  const ssh::RunOptions options{.timeout = limit};
  const auto installed = remote::install_agent(client_, hosts, *options_.agent, options, cancel);
  for (std::size_t i = 0; i < installed.size(); ++i)
    if (!installed[i].ok() && !may_pass(installed[i].error().kind()))
      throw installed[i].error().during(without[i]->ranks.node.value);
  return true;
}

/// Takes the result of the connection that brings input. A broken one is opened again.
bool Following::note_input_result(Node& fed, const HostResult<ssh::Exit>& result) {
  fed.input_done = result.ok() && result.value().code() == 0;
  if (fed.input_done) options_.input->leave(taker_of(fed));
  if (fed.input_done) return true;
  if (note_missing_agent(fed, result, fed.input_complaint)) return false;
  const bool killed = result.ok() && result.value().code() > 128;
  if (killed || (!result.ok() && may_pass(result.error().kind()))) return false;
  const std::string& node = fed.ranks.node.value;
  if (!result.ok()) throw result.error().during("passing standard input to " + node);
  throw Error(ErrorKind::remote, "passing standard input to " + node + ": " +
                                     fed.input_complaint.substr(0, fed.input_complaint.find('\n')));
}

bool Following::hangs() const {
  if (!options_.ends_hangs || job_ended()) return false;
  std::set<int> ended;
  for (const auto& [rank, end] : ends_)
    ended.insert(rank);
  return is_hanging(placement_, ended, idle_);
}

bool Following::is_needed(const Node& node) const {
  return !options_.anywhere || has_supervisor(node);
}

/// Returns true if the other nodes behave as if this one were gone.
bool Following::have_others_ended(const Node& node) const {
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

bool Following::is_given_up(const Node& node) const {
  return std::ranges::any_of(lost_,
                             [&](const LostNode& lost) { return lost.node == node.ranks.node; });
}

bool Following::find_lost() {
  const auto now = SteadyClock::now();
  for (const Node& node : nodes_) {
    if (!is_needed(node) || !node.is_broken) continue;
    const NodeContact contact{
        .silence = std::chrono::duration_cast<milliseconds>(now - node.heard_at),
        .are_others_ended = have_others_ended(node)};
    if (is_lost(contact, options_.lost_after)) lost_.push_back({node.ranks.node, node.silence});
  }
  return !lost_.empty();
}

std::vector<Following::Node*> Following::incomplete() {
  std::vector<Node*> nodes;
  for (Node& node : nodes_)
    if (!node.complete && !is_given_up(node)) nodes.push_back(&node);
  return nodes;
}

std::vector<HostResult<ssh::Exit>> Following::read_once(milliseconds limit,
                                                        std::optional<milliseconds> connect_limit,
                                                        Wait wait, const Cancel& cancel) {
  std::list<FrameDecoder> decoders;
  std::vector<ssh::Task> tasks;
  for (Node* node : incomplete()) {
    decoders.emplace_back([this, node](const agent::FrameHeader& header, std::string_view bytes) {
      take(*node, header, bytes);
    });
    tasks.push_back(task_for(*node, decoders.back(), wait == Wait::yes));
  }
  if (tasks.empty()) return {};
  ssh::RunOptions options;
  options.width = static_cast<int>(tasks.size());
  options.timeout = limit;
  options.connect_timeout = connect_limit;
  options.grace = kGrace;
  return client_.run(std::move(tasks), options, cancel);
}

void Following::catch_up(milliseconds limit) {
  const Cancel never;
  bool is_again = false;
  do {
    const std::vector<Node*> nodes = incomplete();
    const auto results = read_once(limit, limit, Wait::no, never);
    for (std::size_t i = 0; i < results.size(); ++i) {
      note_missing_agent(*nodes[i], results[i], nodes[i]->complaint);
      if (has_supervisor(*nodes[i]) && results[i].ok())
        is_unknown_ = results[i].value().code() == agent::kNotThere;
    }
    is_again = install_agents(limit, never);
  } while (is_again);
}

void Following::read_all(const Cancel& cancel) {
  bool is_again = false;
  do {
    const std::vector<Node*> nodes = incomplete();
    const auto results = read_once(milliseconds(0), std::nullopt, Wait::no, cancel);
    cancel.check();
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!note_result(*nodes[i], results[i]) && !nodes[i]->lacks_agent)
        throw Error(ErrorKind::transient, nodes[i]->ranks.node.value + ": " + nodes[i]->silence);
    is_again = install_agents(kInstallTime, cancel);
  } while (is_again);
}

JobReport Following::report() const {
  JobReport report;
  report.placement = placement_;
  for (const auto& [rank, end] : ends_) {
    report.ranks.push_back(end);
    report.ranks.back().ended = on_our_clock(end.ended, reporters_.at(rank)->clock_offset);
  }
  report.launcher = launcher_;
  report.launcher_tail = launcher_tail_;
  while (report.launcher_tail.ends_with('\n'))
    report.launcher_tail.pop_back();
  report.lost = lost_;
  report.is_unknown = is_unknown_;
  report.unreached = unreached_;
  for (const Node& node : nodes_)
    if (!node.full_disk.empty()) report.full_disks.push_back({node.ranks.node, node.full_disk});
  if (hangs()) report.hanging = idle_;
  return report;
}

JobReport glance_at_nodes(ssh::Client& client, std::vector<ssh::Host> hosts,
                          std::vector<NodeRanks> placement, NodeCommands commands,
                          std::chrono::milliseconds limit, FollowingOptions options) {
  SilentObserver nobody;
  options.data = false;
  options.renew_lease = Renewal::no;
  Following following(client, std::move(hosts), std::move(placement), std::move(commands), options,
                      nobody);
  following.catch_up(limit);
  return following.report();
}

}  // namespace fastgpu::launcher
