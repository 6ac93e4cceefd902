#include "launcher/following.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/silence.hpp"
#include "base/contains.hpp"
#include "base/host_names.hpp"
#include "base/name_ranges.hpp"
#include "base/pulse.hpp"
#include "base/wait.hpp"
#include "launcher/linked_cancel.hpp"
#include "launcher/node_refusal.hpp"

namespace fastgpu::launcher {
namespace {

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
/// The time for connections to read what is there already: the output of nodes that answer waits
/// for those that do not.
constexpr milliseconds kBacklogConnect{4'000};

/// The time in which an order to stop that has reached one node reaches all.
constexpr milliseconds kOrderOnItsWay{1'000};

/// The longest list of nodes of a job.
constexpr std::size_t kMostNodes = 100'000;

/// The time for the agent where it is missing.
constexpr milliseconds kInstallTime{60'000};

/// Returns whether a job ended within the last seconds, if the clock of its node is right.
bool is_recent(const agent::JobEnd& end) {
  constexpr milliseconds kRecent{3'000};
  const std::chrono::nanoseconds ended(end.ended);
  const auto ago = std::chrono::system_clock::now().time_since_epoch() - ended;
  return ago > -kRecent && ago < kRecent;
}

}  // namespace

Following::Following(ssh::Client& client, std::vector<ssh::Host> hosts,
                     std::vector<NodeRanks> placement, NodeCommands commands,
                     FollowingOptions options, JobObserver& observer)
    : client_(client),
      placement_(std::move(placement)),
      commands_(std::move(commands)),
      options_(std::move(options)),
      observer_(observer),
      news_(options_, placement_, observer,
            {.when_hanging =
                 [this] {
                   if (end_round_) end_round_();
                 },
             .when_nodes_are_named =
                 [this](const Node& from, std::string_view list, bool have_output) {
                   take_nodes(from, list, have_output);
                 }}),
      input_(options_, commands_, hosts.size()) {
  if (!options_.supervisor && !placement_.empty()) options_.supervisor = placement_.front().node;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    nodes_.push_back({.host = std::move(hosts[i]), .ranks = placement_.at(i)});
}

void Following::run(const Cancel& cancel) {
  for (Node& node : nodes_) {
    node.heard_at = SteadyClock::now();
    node.is_wanted = !options_.anywhere || news_.has_supervisor(node);
  }
  if (options_.backlog_first) read_backlog(cancel);
  while (!job_ended() && !cancel.requested()) {
    run_once(cancel);
    if (install_agents(kInstallTime, cancel)) continue;
    if (std::exchange(has_new_nodes_, false) && !cancel.requested()) continue;
    const bool is_stuck = news_.hangs() || news_.launcher_stayed();
    if (job_ended() || cancel.requested() || find_lost() || is_stuck) break;
    wait_or_cancel(kBetweenTries, cancel);
  }
  if (job_ended()) collect_rest();
}

/// Reads the output that is there already. A failure is met again in the rounds that follow, and
/// handled there.
void Following::read_backlog(const Cancel& cancel) {
  observer_.backlog_begins();
  bool is_again = false;
  do {
    const std::vector<Node*> nodes = incomplete();
    const auto results = read_once(milliseconds(0), kBacklogConnect, Wait::no, cancel);
    for (std::size_t i = 0; i < results.size(); ++i)
      note_missing_agent(*nodes[i], results[i], nodes[i]->complaint);
    is_again = install_agents(kInstallTime, cancel);
    is_again = std::exchange(has_new_nodes_, false) || is_again;
  } while (is_again && !cancel.requested());
  observer_.backlog_ended();
}

void Following::require_answers() const {
  std::optional<Error> first;
  std::vector<NodeName> refusing;
  for (const Node& node : nodes_) {
    if (!node.refusal) continue;
    if (!first) first = node.refusal;
    if (node.refusal->kind() == first->kind()) refusing.push_back(node.ranks.node);
  }
  if (first) throw NodeRefusal(std::move(refusing), *first);
}

std::vector<NodeName> Following::nodes_without_job() const {
  std::vector<NodeName> names;
  for (const Node& node : nodes_)
    if (node.refusal && node.refusal->kind() == ErrorKind::not_found)
      names.push_back(node.ranks.node);
  return names;
}

/// Reads the nodes' remaining output after the job's end. A node without an answer, whose ranks
/// have not reported their end, is the cause of a job that failed for no other known reason.
void Following::collect_rest() {
  const bool is_quiet = news_.job_end()->how.ok() && !nodes_of_job_.empty();
  if (!is_quiet) want_nodes_of_job();
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
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const auto failure = failure_in(*nodes[i], results[i]))
      if (!may_pass(failure->kind()) && !lacks_job(*nodes[i], *failure))
        nodes[i]->refusal = failure;
  if (news_.job_end()->how.ok()) return;
  bool is_reached = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok() || !may_pass(results[i].error().kind())) continue;
    is_reached = false;
    if (news_.has_failed_rank())
      unreached_.push_back(nodes[i]->ranks.node);
    else
      lost_.push_back({nodes[i]->ranks.node,
                       nodes[i]->silence.empty() ? results[i].error().what() : nodes[i]->silence});
  }
  // Ranks that were asked to end may still have output.
  if (is_reached) read_once(kLastOutput, limit, Wait::yes, never);
  if (may_get_order()) await_order(kCatchUp);
}

/// Returns true if other nodes may have got an order to stop before the first one.
bool Following::may_get_order() const {
  const JobReport seen = report();
  return lost_.empty() && may_be_cancelled(seen) && !seen.launcher->ordered;
}

/// Looks once more for an order to stop on the first node.
void Following::await_order(milliseconds limit) {
  const Cancel never;
  wait_or_cancel(kOrderOnItsWay, never);
  for (Node& node : nodes_)
    if (news_.has_supervisor(node)) node.complete = false;
  read_once(limit, kOnceMore, Wait::no, never);
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
      news_.take(*node, header, bytes);
    });
    tasks.push_back(task_for(*node, decoders.back(), true));
  }
  const std::vector<std::size_t> fed = input_.waiting();
  for (const std::size_t place : fed)
    tasks.push_back(input_.task(place, nodes_[place].host));
  LinkedCancel stop(cancel);
  end_round_ = [&stop] { stop.request(); };
  ssh::RunOptions options;
  options.width = static_cast<int>(tasks.size());
  options.grace = kGrace;
  options.connect_timeout = limit_for(nodes);
  options.keeps_connections = options_.keeps_connections;
  if (options_.input != nullptr) options.wake = options_.input->wake();
  if (beats) options.wake = beats->wake();
  options.on_finished = [&](std::size_t i, const HostResult<ssh::Exit>& result) {
    const bool asked = stop.both().requested();
    if (job_ended()) stop.request();  // The others have nothing more to wait for.
    if (asked || (i < nodes.size() && nodes[i]->complete)) return;
    const bool is_well = i < nodes.size() ? note_result(*nodes[i], result)
                                          : note_input_result(fed[i - nodes.size()], result);
    if (!is_well) stop.request();
  };
  client_.run(std::move(tasks), options, stop.both());
  end_round_ = nullptr;
  beats_ = nullptr;
  if (!job_ended() && !cancel.requested()) require_answers();
}

ssh::Task Following::task_for(Node& node, FrameDecoder& decoder, bool wait) {
  NodeCommands::Follow what{.ranks = options_.ranks, .tail = options_.tail};
  what.since = options_.since;
  what.times = options_.times || (options_.backlog_first && !wait);
  what.continues = !node.offsets.empty();
  what.wait = wait;
  what.data = options_.data;
  what.renew_lease = options_.renew_lease == Renewal::yes && news_.has_supervisor(node);
  what.begun = options_.needs_begin && news_.has_supervisor(node);
  what.beats = beats_ != nullptr && needs_beats(node);
  node.complaint.clear();
  node.refusal.reset();
  news_.forget_idle(node.ranks);
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
  task.on_stdout = [this, &node, &decoder](std::string_view bytes) {
    node.hear();
    decoder.feed(bytes);
    // The others have nothing more to wait for. The process that sent this may take a while to end.
    if (job_ended() && end_round_) end_round_();
  };
  task.on_stderr = [this, &node](std::string_view bytes) {
    node.hear();
    keep_tail(node.complaint, without_pulses(bytes));
    news_.look_at_launcher(node.heard_at);
  };
  return task;
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
  return options_.renew_lease == Renewal::yes && news_.has_supervisor(node) &&
         is_behind_another(node.host);
}

/// Takes a node's result. Returns false unless it is a success.
bool Following::note_result(Node& node, const HostResult<ssh::Exit>& result) {
  const auto failure = failure_in(node, result);
  if (!failure) return true;
  if (note_missing_agent(node, result, node.complaint)) return false;
  if (lacks_job(node, *failure)) return false;
  if (!may_pass(failure->kind())) {
    node.refusal = failure;
    return false;
  }
  if (!std::exchange(node.is_broken, true)) observer_.connection_lost(node.ranks.node, *failure);
  node.silence = failure->what();
  return false;
}

/// Returns the error in the result of a node; absent after a success. The node may answer again
/// after an error that may_pass(), and not after any other, such as not_found: it lacks the job.
std::optional<Error> Following::failure_in(const Node& node,
                                           const HostResult<ssh::Exit>& result) const {
  if (!result.ok()) return result.error();
  const int code = result.value().code();
  if (code == 0) return std::nullopt;
  std::string why = node.complaint.substr(0, node.complaint.find_last_not_of('\n') + 1);
  if (why.empty()) why = "the agent ended with " + std::to_string(code);
  // An agent that was killed is started again; one that refuses is not.
  if (code > 128) return Error(ErrorKind::transient, why);
  return Error(
      is_without_agent(result, node.complaint) ? ErrorKind::remote : agent::kind_of_exit(code),
      why);
}

/// Returns true if the command has failed because the node has no agent.
bool Following::is_without_agent(const HostResult<ssh::Exit>& result,
                                 std::string_view complaint) const {
  return options_.agent && result.ok() &&
         remote::agent_missing(options_.agent->hash, result.value(), complaint);
}

/// Returns whether a node lacks the agent, and is to get it.
bool Following::note_missing_agent(Node& node, const HostResult<ssh::Exit>& result,
                                   std::string_view complaint) const {
  if (node.got_agent || !is_without_agent(result, complaint)) return false;
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
bool Following::note_input_result(std::size_t place, const HostResult<ssh::Exit>& result) {
  if (input_.is_all_brought(place, result)) return true;
  Node& fed = nodes_[place];
  if (note_missing_agent(fed, result, input_.complaint(place))) return false;
  if (auto refusal = input_.refusal_in(place, result)) fed.refusal = std::move(refusal);
  return false;
}

bool Following::is_needed(const Node& node) const {
  return !options_.anywhere || news_.has_supervisor(node);
}

bool Following::is_given_up(const Node& node) const {
  return std::ranges::any_of(lost_,
                             [&](const LostNode& lost) { return lost.node == node.ranks.node; });
}

bool Following::find_lost() {
  const auto now = SteadyClock::now();
  const bool is_one_silent = std::ranges::any_of(
      nodes_, [&](const Node& node) { return is_needed(node) && node.is_broken; });
  const bool are_gone = is_one_silent && options_.are_nodes_gone && options_.are_nodes_gone();
  for (const Node& node : nodes_) {
    if (!is_needed(node) || !node.is_broken) continue;
    const NodeContact contact{
        .silence = std::chrono::duration_cast<milliseconds>(now - node.heard_at),
        .are_others_ended = news_.have_others_ended(node)};
    if (are_gone || is_lost(contact, options_.lost_after))
      lost_.push_back({node.ranks.node, node.silence});
  }
  return !lost_.empty();
}

std::vector<Following::Node*> Following::incomplete() {
  std::vector<Node*> nodes;
  for (Node& node : nodes_)
    if (node.is_wanted && !node.complete && !is_given_up(node)) nodes.push_back(&node);
  return nodes;
}

/// Takes the nodes that Slurm has chosen. They are read from the next round on if they have output.
void Following::take_nodes(const Node& from, std::string_view list, bool have_output) {
  nodes_of_job_.clear();
  for (const std::string_view item :
       split_name_list(list).value_or(std::vector<std::string_view>()))
    for (std::string& name : expand_name(item, kMostNodes).value_or(std::vector<std::string>()))
      nodes_of_job_.insert(std::move(name));
  if (options_.when_launcher_begins && news_.has_supervisor(from)) options_.when_launcher_begins();
  if (!have_output) return;
  want_nodes_of_job();
  if (has_new_nodes_ && end_round_) end_round_();
}

/// Wants to read all nodes of the job; all nodes that it may have if they are not known.
void Following::want_nodes_of_job() {
  for (Node& node : nodes_) {
    const bool is_of_job =
        nodes_of_job_.empty() || nodes_of_job_.contains(host_form(node.host.name.value));
    if (is_of_job && !std::exchange(node.is_wanted, true)) has_new_nodes_ = true;
  }
}

/// Returns true for the failure of a node on which a job that may be anywhere is not, or has not
/// begun.
bool Following::lacks_job(const Node& node, const Error& failure) const {
  return options_.anywhere && !news_.has_supervisor(node) && failure.kind() == ErrorKind::not_found;
}

std::vector<HostResult<ssh::Exit>> Following::read_once(milliseconds limit,
                                                        std::optional<milliseconds> connect_limit,
                                                        Wait wait, const Cancel& cancel) {
  std::list<FrameDecoder> decoders;
  std::vector<ssh::Task> tasks;
  const std::vector<Node*> nodes = incomplete();
  for (Node* node : nodes) {
    decoders.emplace_back([this, node](const agent::FrameHeader& header, std::string_view bytes) {
      news_.take(*node, header, bytes);
    });
    tasks.push_back(task_for(*node, decoders.back(), wait == Wait::yes));
  }
  if (tasks.empty()) return {};
  ssh::RunOptions options;
  options.width = static_cast<int>(tasks.size());
  options.timeout = limit;
  options.connect_timeout = connect_limit;
  options.grace = kGrace;
  options.keeps_connections = options_.keeps_connections;
  auto results = client_.run(std::move(tasks), options, cancel);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool is_silent = !results[i].ok() && may_pass(results[i].error().kind());
    nodes[i]->unanswered = is_silent ? results[i].error().what() : "";
  }
  return results;
}

void Following::catch_up(milliseconds limit) {
  const Cancel never;
  want_nodes_of_job();
  bool is_again = false;
  do {
    const std::vector<Node*> nodes = incomplete();
    const auto results = read_once(limit, limit, Wait::no, never);
    for (std::size_t i = 0; i < results.size(); ++i) {
      note_missing_agent(*nodes[i], results[i], nodes[i]->complaint);
      if (!news_.has_supervisor(*nodes[i])) continue;
      silence_ = results[i].ok() ? "" : results[i].error().what();
      if (!results[i].ok()) continue;
      const auto failure = failure_in(*nodes[i], results[i]);
      is_unknown_ = failure && failure->kind() == ErrorKind::not_found;
    }
    is_again = install_agents(limit, never);
  } while (is_again);
  if (may_get_order() && is_recent(*news_.job_end())) await_order(limit);
}

void Following::read_all(const Cancel& cancel) {
  bool is_again = false;
  if (options_.backlog_first) observer_.backlog_begins();
  do {
    const std::vector<Node*> nodes = incomplete();
    const auto results = read_once(milliseconds(0), std::nullopt, Wait::no, cancel);
    cancel.check();
    for (std::size_t i = 0; i < results.size(); ++i)
      note_result(*nodes[i], results[i]);
    is_again = install_agents(kInstallTime, cancel);
  } while (is_again);
  if (options_.backlog_first) observer_.backlog_ended();
  require_answers();
  for (const Node& node : nodes_)
    if (node.is_broken && !node.complete)
      throw Error(ErrorKind::transient, node.ranks.node.value + ": " + node.silence);
}

JobReport Following::report() const {
  JobReport report;
  news_.add_to(report);
  report.lost = lost_;
  report.is_unknown = is_unknown_;
  report.silence = silence_;
  report.unreached = unreached_;
  report.unanswered = lost_;
  for (const Node& node : nodes_) {
    if (!node.full_disk.empty()) report.full_disks.push_back({node.ranks.node, node.full_disk});
    if (!node.unanswered.empty() && !contains(lost_, node.ranks.node, &LostNode::node))
      report.unanswered.push_back({node.ranks.node, node.unanswered});
  }
  return report;
}

}  // namespace fastgpu::launcher
