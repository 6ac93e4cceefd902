#include "remote/relay.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "remote/agent_call.hpp"
#include "remote/copy.hpp"
#include "remote/kept_copy.hpp"
#include "remote/local_failure.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/pace.hpp"
#include "transfer/relay_report.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::remote {
namespace {

constexpr int kMostChains = 3;
constexpr std::size_t kMostOfReport = 4'096;

using Indices = std::vector<std::size_t>;

class Relay {
 public:
  Relay(ssh::Client& client, std::span<const ssh::Host> hosts, const NodeRoute& route,
        const std::vector<std::filesystem::path>& sources, const std::string& destination,
        const AgentProgram& agent, const CopyOptions& options, CopyProgress* progress,
        const Cancel& cancel)
      : client_(client),
        hosts_(hosts),
        route_(route),
        sources_(sources),
        destination_(destination),
        agent_(agent),
        options_(options),
        progress_(progress),
        cancel_(cancel),
        results_(hosts.size()) {}

  std::vector<HostResult<Copied>> run() {
    Indices left;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      left.push_back(i);
    Indices suspects;  // The nodes that broke a chain or were its first node.
    for (int chain = 0; chain < kMostChains && left.size() > 1 && !cancel_.requested(); ++chain) {
      send_through(left);
      ask_for_reports(left);
      drop_known(left);
      if (left.empty()) break;
      suspects.push_back(left.front());
      left.erase(left.begin());
    }
    left.insert(left.end(), suspects.begin(), suspects.end());
    send_from_here(left);
    std::vector<HostResult<Copied>> results;
    for (std::optional<HostResult<Copied>>& result : results_)
      results.push_back(std::move(*result));
    return results;
  }

 private:
  std::vector<ssh::Host> hosts_of(const Indices& indices) const {
    std::vector<ssh::Host> hosts;
    for (const std::size_t host : indices)
      hosts.push_back(hosts_[host]);
    return hosts;
  }

  /// Returns the position that all nodes of the chain have reached.
  transfer::Position kept_by(const Indices& chain) const {
    return std::ranges::min(kept_positions(client_, hosts_of(chain), options_.key, destination_,
                                           agent_, options_, cancel_));
  }

  std::string command_for(const Indices& chain, const transfer::Position& from) const {
    const std::string to = destination_.empty() ? "~" : destination_;
    std::vector<std::string> words = {"relay", "--to", to, "--config", route_.config};
    if (sources_.size() > 1) words.emplace_back("--several");
    words.insert(words.end(), {"--report", id_});
    std::ranges::copy(resume_words(options_.key, from), std::back_inserter(words));
    words.emplace_back("--");
    for (std::size_t i = 1; i < chain.size(); ++i)
      words.push_back(route_.names[chain[i]]);
    return agent_command(agent_.hash, words);
  }

  /// Sends the copy through a chain. Ignores the nodes' output there, because each node is asked
  /// for its own report afterwards.
  void send_through(const Indices& chain) {
    const transfer::Position from = kept_by(chain);
    const auto sums = std::make_shared<transfer::FileSums>();
    std::unique_ptr<transfer::TreeSender> sender;
    transfer::Pace pace(options_.rate);
    const ssh::Host& first = hosts_[chain.front()];
    const auto make = [&](std::size_t) -> ssh::Task {
      sender = std::make_unique<transfer::TreeSender>(sources_, sums, from);
      sender->leave_out(options_.left_out);
      return {.host = first, .command = command_for(chain, from), .next_input = [&] {
                auto piece = local_.noting([&] { return sender->next(); });
                if (piece) pace.pass(piece->size(), cancel_);
                if (progress_ != nullptr)
                  for (const std::size_t host : chain)
                    progress_->moved(host, sender->sent().bytes);
                return piece;
              }};
    };
    call_agent(client_, {&first, 1}, agent_, make, run_options(options_), cancel_);
    local_.check();
    content_ = sender ? sender->sent().bytes : 0;
    if (sender) not_sent_ = sender->not_sent();
    if (sender && sender->account()) accounts_.insert(hex(*sender->account()));
  }

  void drop_known(Indices& left) const {
    std::erase_if(left, [&](std::size_t host) { return results_[host].has_value(); });
  }

  /// Fetches the reports over a separate connection to each node, so that no node can report for
  /// another one.
  void ask_for_reports(const Indices& indices) {
    const std::vector<std::string> words = {"relay-report", id_};
    const auto heard = ask_agents(client_, hosts_of(indices), agent_, words, kMostOfReport,
                                  run_options(options_), cancel_);
    for (std::size_t i = 0; i < indices.size(); ++i)
      for (const transfer::RelayReport& report : transfer::parse_reports(heard[i]))
        if (report.distance == 0) note(indices[i], report);
  }

  void note(std::size_t host, const transfer::RelayReport& report) {
    const NodeName& name = hosts_[host].name;
    const auto kind = transfer::failure_kind(report.status);
    if (kind && cancel_.requested())  // We have cut off their streams ourselves.
      results_[host] = {name, Error(ErrorKind::interrupted, name.value + ": interrupted")};
    else if (kind == ErrorKind::transient)
      return;  // Another node cut it off. Nothing was changed, so that it is sent again.
    else if (kind)
      results_[host] = {name, named_failure(*kind, name, report.text)};
    else if (report.status == 0 && accounts_.contains(report.text))
      results_[host] = {name, Copied{content_, not_sent_, true}};
    else if (report.status == 0)
      results_[host] = {name, changed_on_its_way(name)};
  }

  /// Returns the error for a changed copy. Such a copy is not sent again: if it was a new
  /// directory, it exists now, and a second copy would go into it.
  static Error changed_on_its_way(const NodeName& name) {
    return {ErrorKind::remote, name.value +
                                   ": what arrived is not what was sent: a node that passed it on "
                                   "has changed it; look at the nodes, and copy with --direct"};
  }

  void send_from_here(const Indices& indices) {
    if (indices.empty()) return;
    const std::vector<ssh::Host> hosts = hosts_of(indices);
    const auto copied =
        copy_to(client_, hosts, sources_, destination_, agent_, options_, nullptr, cancel_);
    for (std::size_t i = 0; i < indices.size(); ++i)
      results_[indices[i]] = copied[i];
  }

  ssh::Client& client_;
  std::span<const ssh::Host> hosts_;
  const NodeRoute& route_;
  const std::vector<std::filesystem::path>& sources_;
  const std::string& destination_;
  const AgentProgram& agent_;
  const CopyOptions& options_;
  CopyProgress* progress_;
  const Cancel& cancel_;
  const std::string id_ = random_hex(16);
  LocalFailure local_;
  transfer::NotSent not_sent_;
  std::set<std::string> accounts_;  ///< The accounts of the streams that were sent completely.
  std::uint64_t content_ = 0;       ///< The bytes of the whole copy, from the last stream.
  std::vector<std::optional<HostResult<Copied>>> results_;
};

}  // namespace

std::vector<HostResult<Copied>> copy_through(ssh::Client& client, std::span<const ssh::Host> hosts,
                                             const NodeRoute& route,
                                             const std::vector<std::filesystem::path>& sources,
                                             const std::string& destination,
                                             const AgentProgram& agent, const CopyOptions& options,
                                             CopyProgress* progress, const Cancel& cancel) {
  check_readable(sources, options.left_out);
  return Relay(client, hosts, route, sources, destination, agent, options, progress, cancel).run();
}

}  // namespace fastgpu::remote
