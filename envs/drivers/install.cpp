#include "envs/drivers/install.hpp"

#include <algorithm>

#include "base/fault_point.hpp"
#include "envs/drivers/command_failure.hpp"
#include "envs/drivers/root.hpp"
#include "remote/agent_call.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kMostOutput = 64U << 10U;
constexpr std::chrono::milliseconds kPasswordLimit{120'000};

/// One node's progress through its plan.
struct NodeProgress {
  ssh::Host host;
  NodeFacts facts{};
  DriverPlan plan{};
  DriverStep step{};   ///< The running step.
  std::string last{};  ///< The title of the step before.
  Index index = Index::perhaps_old;
  std::vector<std::string> did{};
  std::optional<Error> failure{};
  bool is_over = false;
  bool wants_reboot = false;
  bool has_right_password = false;  ///< sudo has accepted it there.
  bool has_waited = false;          ///< The command has reported that it waits for a lock.

  bool is_under_way() const { return !failure && !is_over; }
};

/// Keeps the end of a command's output.
void keep_end(std::string& text, std::string_view piece) {
  text += piece;
  if (text.size() > kMostOutput) text.erase(0, text.size() - kMostOutput);
}

class Installation {
 public:
  Installation(const DriverNodes& nodes, const NodeGoal& goal, const DriverInstallOptions& options,
               DriverEvents& events)
      : nodes_(nodes), goal_(goal), options_(options), events_(events) {
    for (const ssh::Host& host : nodes.hosts)
      journeys_.push_back({.host = host});
  }

  std::vector<HostResult<DriverOutcome>> all() {
    for (;;) {
      look();
      std::vector<NodeProgress*> busy = next_steps();
      if (busy.empty()) break;
      run(busy);
    }
    std::vector<HostResult<DriverOutcome>> results;
    for (NodeProgress& journey : journeys_) {
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
  std::vector<NodeProgress*> under_way() {
    std::vector<NodeProgress*> found;
    for (NodeProgress& journey : journeys_)
      if (journey.is_under_way()) found.push_back(&journey);
    return found;
  }

  /// Reads the facts of all nodes under way, and plans again.
  void look() {
    const std::vector<NodeProgress*> looking = under_way();
    std::vector<ssh::Host> hosts;
    for (const NodeProgress* journey : looking)
      hosts.push_back(journey->host);
    const auto found = look_at(nodes_, hosts, goal_.packages);
    for (std::size_t i = 0; i < looking.size(); ++i) {
      if (found[i].ok())
        plan(*looking[i], found[i].value());
      else
        looking[i]->failure = found[i].error();
    }
    if (options_.sudo_password) check_password(*options_.sudo_password);
  }

  /// Plans; root's rights are only needed if a step is left.
  void plan(NodeProgress& journey, const NodeFacts& facts) try {
    journey.facts = facts;
    journey.plan = plan_for(goal_, facts, journey.index);
    if (journey.plan.next() != nullptr) check_rights(facts, options_.sudo_password);
  } catch (const Error& e) {
    journey.failure = e;
  }

  /// Checks the password once on each node whose sudo requires it: a wrong one in front of a
  /// command would leave sudo waiting for another.
  void check_password(const Secret& password) {
    std::vector<NodeProgress*> asked;
    std::vector<ssh::Host> hosts;
    std::vector<std::string> users;
    for (NodeProgress* journey : under_way()) {
      const bool is_needed = journey->facts.sudo == Sudo::password && journey->plan.next();
      if (!is_needed || journey->has_right_password) continue;
      asked.push_back(journey);
      hosts.push_back(journey->host);
      users.push_back(journey->facts.user);
    }
    if (asked.empty()) return;
    const auto tried = try_password(nodes_.client, hosts, users, password,
                                    run_options(nodes_, kPasswordLimit), nodes_.cancel);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      asked[i]->has_right_password = tried[i].ok();
      if (!tried[i].ok()) asked[i]->failure = tried[i].error();
    }
  }

  /// Sets the step of each node that has one; the others are finished.
  std::vector<NodeProgress*> next_steps() {
    std::vector<NodeProgress*> busy;
    for (NodeProgress* journey : under_way()) {
      const DriverStep* next = journey->plan.next();
      if (next == nullptr) {
        journey->is_over = true;
      } else if (next->title == journey->last) {
        journey->failure = Error(
            ErrorKind::remote, next->title + ": the commands succeeded, but the check still fails" +
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

  void run(const std::vector<NodeProgress*>& busy) {
    std::size_t most = 0;
    for (const NodeProgress* journey : busy) {
      events_.started(journey->host.name, journey->step);
      most = std::max(most, journey->step.commands.size());
    }
    for (std::size_t at = 0; at < most; ++at)
      run_commands(busy, at);
    wait_for_reboots(busy);
    for (NodeProgress* journey : busy) {
      if (!journey->is_under_way()) continue;
      journey->did.push_back(journey->step.title);
      if (journey->step.reads_index) journey->index = Index::just_read;
      events_.finished(journey->host.name, journey->step);
    }
    fault_point("drivers.step");
  }

  /// Runs the command with that number of each node's step. Repeats it while another process holds
  /// a lock that the command does not wait for. apt-get and dnf wait for dpkg's and rpm's
  /// themselves. This is for apt's locks on its lists and archives, for dpkg alone, and for an
  /// apt-get older than 2.0.
  void run_commands(const std::vector<NodeProgress*>& busy, std::size_t at) {
    std::vector<NodeProgress*> running;
    for (NodeProgress* journey : busy) {
      journey->has_waited = false;
      if (journey->is_under_way() && at < journey->step.commands.size()) running.push_back(journey);
    }
    std::vector<NodeProgress*> blocked = run_command(running, at);
    for (const NodeProgress* journey : blocked)
      events_.waiting(journey->host.name, *journey->failure);
    const auto deadline = nodes_.clock.now() + options_.lock_limit;
    while (!blocked.empty() && nodes_.clock.now() < deadline) {
      nodes_.clock.sleep(options_.pause);
      blocked = run_command(blocked, at);
    }
  }

  /// Returns the nodes whose command failed by a lock of another process without having waited for
  /// it.
  std::vector<NodeProgress*> run_command(const std::vector<NodeProgress*>& running,
                                         std::size_t at) {
    std::vector<ssh::Host> hosts;
    for (NodeProgress* journey : running) {
      journey->failure.reset();
      hosts.push_back(journey->host);
    }
    std::vector<std::string> said(running.size());
    const auto task = [&](std::size_t i) {
      const auto hear = [&, i](std::string_view piece) {
        keep_end(said[i], piece);
        note_waiting(*running[i], said[i]);
      };
      const Sudo sudo = running[i]->facts.sudo;
      return ssh::Task{
          .host = running[i]->host,
          .command = root_command(nodes_.agent.hash, sudo, running[i]->step.commands[at]),
          .on_stdout = hear,
          .on_stderr = hear,
          .next_input = root_input(sudo, options_.sudo_password),
          .hold_input_open = true,
          .most_output = ssh::kEndless};
    };
    const auto results =
        remote::call_agent(nodes_.client, hosts, nodes_.agent, task,
                           run_options(nodes_, options_.step_limit), nodes_.cancel);
    for (std::size_t i = 0; i < running.size(); ++i)
      note_result(*running[i], at, results[i], said[i]);
    std::vector<NodeProgress*> blocked = running;
    std::erase_if(blocked, [](const NodeProgress* journey) {
      const bool is_locked_out =
          journey->failure && journey->failure->kind() == ErrorKind::conflict;
      return !is_locked_out || journey->has_waited;
    });
    return blocked;
  }

  void note_waiting(NodeProgress& journey, std::string_view said) {
    if (journey.has_waited) return;
    const auto what = waits_for(said);
    if (!what) return;
    journey.has_waited = true;
    events_.waiting(journey.host.name,
                    Error(ErrorKind::conflict, *what).during(journey.step.title));
  }

  static void note_result(NodeProgress& journey, std::size_t at, const remote::CallResult& result,
                          const std::string& said) {
    const std::string& title = journey.step.title;
    if (result.exit.ok()) {
      const ssh::Exit& exit = result.exit.value();
      const bool is_cut_off = journey.step.reboots && !exit.signal.empty();
      if (exit.code() != 0 && !is_cut_off)
        journey.failure = command_failure(journey.step.commands[at], exit, said).during(title);
      return;
    }
    const Error& why = result.exit.error();
    // A reboot cuts the connection.
    if (result.lacks_agent || !journey.step.reboots || why.kind() == ErrorKind::interrupted)
      journey.failure = why.during(title);
  }

  void wait_for_reboots(const std::vector<NodeProgress*>& busy) {
    std::vector<NodeProgress*> away;
    for (NodeProgress* journey : busy)
      if (journey->is_under_way() && journey->step.reboots) away.push_back(journey);
    const auto deadline = nodes_.clock.now() + options_.reboot_limit;
    while (!away.empty()) {
      nodes_.clock.sleep(options_.pause);
      look_for(away, nodes_.clock.now() >= deadline);
      std::erase_if(away, [](const NodeProgress* journey) {
        return !journey->is_under_way() || !journey->step.reboots;
      });
    }
  }

  /// Checks which nodes are back: their kernels have another boot's identity.
  void look_for(const std::vector<NodeProgress*>& away, bool is_late) {
    std::vector<ssh::Host> hosts;
    for (const NodeProgress* journey : away)
      hosts.push_back(journey->host);
    const auto found = look_at(nodes_, hosts, {});
    for (std::size_t i = 0; i < away.size(); ++i) {
      NodeProgress& journey = *away[i];
      const bool is_back = found[i].ok() && found[i].value().boot_id != journey.facts.boot_id;
      if (is_back)
        journey.step.reboots = false;
      else if (nodes_.cancel.requested())
        journey.failure = Error(ErrorKind::interrupted, "interrupted while the node reboots");
      else if (is_late)
        journey.failure = Error(ErrorKind::timeout, "the node did not come back after its reboot");
    }
  }

  const DriverNodes& nodes_;
  const NodeGoal& goal_;
  const DriverInstallOptions& options_;
  DriverEvents& events_;
  std::vector<NodeProgress> journeys_;
};

}  // namespace

std::vector<HostResult<DriverOutcome>> install_on(const DriverNodes& nodes, const NodeGoal& goal,
                                                  const DriverInstallOptions& options,
                                                  DriverEvents& events) {
  return Installation(nodes, goal, options, events).all();
}

}  // namespace fastgpu::envs
