#include "envs/drivers/install.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/fault_point.hpp"
#include "base/names.hpp"
#include "envs/drivers/command_failure.hpp"
#include "envs/facts/probe.hpp"
#include "remote/agent_call.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kMostOutput = 64U << 10U;
constexpr std::chrono::milliseconds kProbeLimit{120'000};

ssh::RunOptions run_options(const DriverNodes& nodes, std::chrono::milliseconds limit) {
  return {.width = nodes.width, .connect_timeout = nodes.connect_timeout, .timeout = limit};
}

/// One node on its way through its plan.
struct Journey {
  ssh::Host host;
  NodeFacts facts{};
  Plan plan{};
  Step step{};         ///< The one that runs.
  std::string last{};  ///< The title of the one that ran before.
  Index index = Index::perhaps_old;
  std::vector<std::string> did{};
  std::optional<Error> failure{};
  bool is_over = false;
  bool wants_reboot = false;

  bool is_under_way() const { return !failure && !is_over; }
};

/// The end of what a command said.
void keep_end(std::string& text, std::string_view piece) {
  text += piece;
  if (text.size() > kMostOutput) text.erase(0, text.size() - kMostOutput);
}

class Installation {
 public:
  Installation(const DriverNodes& nodes, const NodeGoal& goal, const InstallOptions& options,
               DriverEvents& events)
      : nodes_(nodes), goal_(goal), options_(options), events_(events) {
    for (const ssh::Host& host : nodes.hosts)
      journeys_.push_back({.host = host});
  }

  std::vector<HostResult<DriverOutcome>> all() {
    for (;;) {
      look();
      std::vector<Journey*> busy = next_steps();
      if (busy.empty()) break;
      run(busy);
    }
    std::vector<HostResult<DriverOutcome>> results;
    for (Journey& journey : journeys_) {
      if (journey.failure)
        results.push_back({journey.host.name, *journey.failure});
      else
        results.push_back(
            {journey.host.name, DriverOutcome{journey.facts.nvidia.loaded, std::move(journey.did),
                                              std::move(journey.plan), journey.wants_reboot}});
    }
    return results;
  }

 private:
  std::vector<Journey*> under_way() {
    std::vector<Journey*> found;
    for (Journey& journey : journeys_)
      if (journey.is_under_way()) found.push_back(&journey);
    return found;
  }

  /// Reads the facts of all that are under way, and plans anew.
  void look() {
    const std::vector<Journey*> looking = under_way();
    std::vector<ssh::Host> hosts;
    for (const Journey* journey : looking)
      hosts.push_back(journey->host);
    const auto found = probe(nodes_.client, hosts, goal_.packages, run_options(nodes_, kProbeLimit),
                             nodes_.cancel);
    for (std::size_t i = 0; i < looking.size(); ++i) {
      if (found[i].ok())
        plan(*looking[i], found[i].value());
      else
        looking[i]->failure = found[i].error();
    }
  }

  void plan(Journey& journey, const NodeFacts& facts) try {
    check_rights(facts);
    journey.facts = facts;
    journey.plan = plan_for(goal_, facts, journey.index);
  } catch (const Error& e) {
    journey.failure = e;
  }

  static void check_rights(const NodeFacts& facts) {
    if (facts.sudo == Sudo::none)
      throw Error(ErrorKind::denied, "'" + facts.user +
                                         "' is not root there, and there is no sudo: drivers and "
                                         "packages are root's to install");
    if (facts.sudo == Sudo::password)
      throw Error(ErrorKind::denied, "sudo asks '" + facts.user +
                                         "' for a password there: let it ask for none (NOPASSWD "
                                         "in sudoers), or connect as root");
  }

  /// Sets the step of each node that has one; the others' journeys end.
  std::vector<Journey*> next_steps() {
    std::vector<Journey*> busy;
    for (Journey* journey : under_way()) {
      const Step* next = journey->plan.next();
      if (next == nullptr) {
        journey->is_over = true;
      } else if (next->title == journey->last) {
        journey->failure =
            Error(ErrorKind::remote, next->title + ": this ran to its end, and yet it is not so" +
                                         (next->note.empty() ? "" : ": " + next->note));
      } else if (next->reboots && options_.reboots == Reboots::never) {
        journey->wants_reboot = journey->is_over = true;
      } else {
        journey->step = *next;
        journey->last = next->title;
        busy.push_back(journey);
      }
    }
    return busy;
  }

  void run(const std::vector<Journey*>& busy) {
    std::size_t most = 0;
    for (const Journey* journey : busy) {
      events_.started(journey->host.name, journey->step);
      most = std::max(most, journey->step.commands.size());
    }
    for (std::size_t at = 0; at < most; ++at)
      run_commands(busy, at);
    wait_for_reboots(busy);
    for (Journey* journey : busy) {
      if (!journey->is_under_way()) continue;
      journey->did.push_back(journey->step.title);
      if (journey->step.reads_index) journey->index = Index::just_read;
      events_.finished(journey->host.name, journey->step);
    }
    fault_point("drivers.step");
  }

  /// The command with that number of each node's step, again while another holds a lock there.
  void run_commands(const std::vector<Journey*>& busy, std::size_t at) {
    std::vector<Journey*> running;
    for (Journey* journey : busy)
      if (journey->is_under_way() && at < journey->step.commands.size()) running.push_back(journey);
    std::vector<Journey*> blocked = run_command(running, at);
    for (const Journey* journey : blocked)
      events_.waiting(journey->host.name, *journey->failure);
    const auto deadline = nodes_.clock.now() + options_.lock_limit;
    while (!blocked.empty() && nodes_.clock.now() < deadline) {
      nodes_.clock.sleep(options_.pause);
      blocked = run_command(blocked, at);
    }
  }

  /// Returns those whose command another's lock has kept from its work; they have failed by it.
  std::vector<Journey*> run_command(const std::vector<Journey*>& running, std::size_t at) {
    std::vector<ssh::Host> hosts;
    for (Journey* journey : running) {
      journey->failure.reset();
      hosts.push_back(journey->host);
    }
    std::vector<std::string> said(running.size());
    const auto task = [&](std::size_t i) {
      const auto hear = [&said, i](std::string_view piece) { keep_end(said[i], piece); };
      return ssh::Task{.host = running[i]->host,
                       .command = remote::agent_command(nodes_.agent.hash, words(*running[i], at)),
                       .on_stdout = hear,
                       .on_stderr = hear,
                       .next_input = {},
                       .hold_input_open = true};
    };
    const auto results =
        remote::call_agent(nodes_.client, hosts, nodes_.agent, task,
                           run_options(nodes_, options_.step_limit), nodes_.cancel);
    for (std::size_t i = 0; i < running.size(); ++i)
      note_result(*running[i], at, results[i], said[i]);
    std::vector<Journey*> blocked = running;
    std::erase_if(blocked, [](const Journey* journey) {
      return !journey->failure || journey->failure->kind() != ErrorKind::conflict;
    });
    return blocked;
  }

  static std::vector<std::string> words(const Journey& journey, std::size_t at) {
    std::vector<std::string> words = {"exec", "--"};
    if (journey.facts.sudo == Sudo::free) words.insert(words.end(), {"sudo", "-n", "--"});
    const Argv& argv = journey.step.commands[at];
    words.insert(words.end(), argv.begin(), argv.end());
    return words;
  }

  static void note_result(Journey& journey, std::size_t at, const remote::CallResult& result,
                          const std::string& said) {
    const std::string& title = journey.step.title;
    if (const auto* without = std::get_if<remote::NoAgent>(&result)) {
      journey.failure = without->why.during(title);
    } else if (const auto* exit = std::get_if<ssh::Exit>(&result)) {
      const bool is_cut_off = journey.step.reboots && !exit->signal.empty();
      if (exit->code() != 0 && !is_cut_off)
        journey.failure = command_failure(journey.step.commands[at], *exit, said).during(title);
    } else if (!journey.step.reboots || std::get<Error>(result).kind() == ErrorKind::interrupted) {
      journey.failure = std::get<Error>(result).during(title);  // A reboot cuts the connection.
    }
  }

  void wait_for_reboots(const std::vector<Journey*>& busy) {
    std::vector<Journey*> away;
    for (Journey* journey : busy)
      if (journey->is_under_way() && journey->step.reboots) away.push_back(journey);
    const auto deadline = nodes_.clock.now() + options_.reboot_limit;
    while (!away.empty()) {
      nodes_.clock.sleep(options_.pause);
      look_for(away, nodes_.clock.now() >= deadline);
      std::erase_if(away, [](const Journey* journey) {
        return !journey->is_under_way() || !journey->step.reboots;
      });
    }
  }

  /// A node is back when its kernel has another boot's identity.
  void look_for(const std::vector<Journey*>& away, bool is_late) {
    std::vector<ssh::Host> hosts;
    for (const Journey* journey : away)
      hosts.push_back(journey->host);
    const auto found =
        probe(nodes_.client, hosts, {}, run_options(nodes_, kProbeLimit), nodes_.cancel);
    for (std::size_t i = 0; i < away.size(); ++i) {
      Journey& journey = *away[i];
      const bool is_back = found[i].ok() && found[i].value().boot_id != journey.facts.boot_id;
      if (is_back)
        journey.step.reboots = false;
      else if (nodes_.cancel.requested())
        journey.failure = Error(ErrorKind::interrupted, "interrupted while the node reboots");
      else if (is_late)
        journey.failure = Error(ErrorKind::timeout, "the node has not come back from its reboot");
    }
  }

  const DriverNodes& nodes_;
  const NodeGoal& goal_;
  const InstallOptions& options_;
  DriverEvents& events_;
  std::vector<Journey> journeys_;
};

}  // namespace

std::vector<HostResult<Planned>> plan_on(const DriverNodes& nodes, const NodeGoal& goal,
                                         const std::function<NodeFacts(NodeFacts)>& assume) {
  const auto found = probe(nodes.client, nodes.hosts, goal.packages,
                           run_options(nodes, kProbeLimit), nodes.cancel);
  std::vector<HostResult<Planned>> results;
  for (const HostResult<NodeFacts>& result : found) {
    if (!result.ok()) {
      results.push_back({result.host, result.error()});
      continue;
    }
    try {
      NodeFacts facts = assume ? assume(result.value()) : result.value();
      Plan plan = plan_for(goal, facts, Index::perhaps_old);
      results.push_back({result.host, Planned{std::move(facts), std::move(plan)}});
    } catch (const Error& e) {
      results.push_back({result.host, e});
    }
  }
  return results;
}

std::vector<HostResult<DriverOutcome>> install_on(const DriverNodes& nodes, const NodeGoal& goal,
                                                  const InstallOptions& options,
                                                  DriverEvents& events) {
  return Installation(nodes, goal, options, events).all();
}

}  // namespace fastgpu::envs
