#include "cli/workflows/stale_folders.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>

#include "base/counted.hpp"
#include "base/names.hpp"
#include "base/outcome.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/job_access.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/job_store.hpp"
#include "launcher/node_commands.hpp"
#include "remote/agent.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5'000};
constexpr std::chrono::milliseconds kListTimeout{30'000};
constexpr std::chrono::milliseconds kRemoveTimeout{600'000};
constexpr std::size_t kMostFolders = 4UL << 20U;
constexpr std::size_t kNamed = 5;

/// Returns the id of the job that a folder is a run of: "train-1" for "train-1.r2".
std::string job_of(const std::string& folder) {
  const auto dot = folder.rfind(".r");
  return dot == std::string::npos ? folder : folder.substr(0, dot);
}

/// A node that was asked, with its folders.
struct AskedNode {
  const state::Cluster* cluster = nullptr;
  ssh::Host host;
  std::string owner;
  StaleFolders stale{};
};

std::vector<AskedNode> nodes_to_ask(Services& services,
                                    const std::vector<state::Cluster>& clusters) {
  std::vector<AskedNode> out;
  const auto owner = owner_of_jobs(services).known();
  if (!owner) return out;  // No job was ever started.
  for (const state::Cluster& cluster : clusters) {
    const bool runs = cluster.state == state::ClusterState::running ||
                      cluster.state == state::ClusterState::degraded;
    if (!runs) continue;
    const ClusterHosts where(services.store(), cluster);
    for (const state::Node& node : services.store().nodes(cluster.id))
      if (node.state == state::NodeState::running)
        out.push_back({.cluster = &cluster, .host = where.of(node), .owner = *owner});
  }
  return out;
}

KnownJobs known_jobs(Services& services) {
  KnownJobs known;
  for (const state::Job& job : services.store().jobs()) {
    known.all.insert(job.id);
    if (!launcher::has_ended(job)) known.running.insert(job.id);
  }
  return known;
}

/// Returns "train-1, train-2, ...".
std::string names_of(const std::vector<agent::JobFolder>& folders) {
  std::string text;
  for (std::size_t i = 0; i < folders.size() && i <= kNamed; ++i)
    text += (i == 0 ? "" : ", ") + (i < kNamed ? printable(folders[i].name) : "...");
  return text;
}

/// Returns "2 folders of deleted jobs on demo-0: train-1, train-2".
std::string what_of(const AskedNode& node, const std::vector<agent::JobFolder>& folders,
                    std::string_view kind) {
  return counted(folders.size(), "folder") + " of " + std::string(kind) + " on " +
         node.host.name.value + ": " + names_of(folders);
}

std::vector<launcher::NodeAnswer> ask_all(Services& services,
                                          const std::vector<launcher::NodeTask>& tasks,
                                          std::chrono::milliseconds timeout) {
  auto answers = launcher::ask_agent(services.ssh(), tasks, services.agent(), timeout,
                                     services.cancel(), kConnectTimeout);
  services.cancel().check();
  return answers;
}

/// Asks the nodes for their folders. Returns those with stale ones.
std::vector<AskedNode> find_stale(Services& services, std::vector<AskedNode> nodes,
                                  FolderCleaning& cleaning) {
  std::vector<launcher::NodeTask> tasks;
  for (const AskedNode& node : nodes) {
    const std::vector<std::string> words = {"job-folders", node.owner};
    tasks.push_back({.host = node.host,
                     .command = remote::agent_command(services.agent().hash, words),
                     .most_output = kMostFolders});
  }
  const auto answers = ask_all(services, tasks, kListTimeout);
  // A job is on record before its folder is made: what was listed first is on record now.
  const KnownJobs known = known_jobs(services);
  const launcher::Retention kept = kept_folders(services);
  const agent::JobRetention retention{.count = static_cast<std::size_t>(kept.count),
                                      .age = kept.age};
  std::vector<AskedNode> out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto found = attempt([&] { return launcher::folders_of_jobs(answers[i]); });
    if (!found.ok()) {
      cleaning.skipped.push_back(
          {nodes[i].cluster->name.value, nodes[i].host.name.value, found.error().what()});
      continue;
    }
    nodes[i].stale = stale_folders(found.value(), known, retention);
    if (!nodes[i].stale.of_no_job.empty() || !nodes[i].stale.outdated.empty())
      out.push_back(std::move(nodes[i]));
  }
  return out;
}

void remove_folders(Services& services, const std::vector<AskedNode>& nodes,
                    std::vector<Outcome<void>>& outcomes) {
  std::vector<launcher::NodeTask> tasks;
  for (const AskedNode& node : nodes) {
    std::vector<std::string> words = {"job-discard", node.owner};
    for (const auto* folders : {&node.stale.of_no_job, &node.stale.outdated})
      for (const agent::JobFolder& folder : *folders)
        words.push_back(agent::discard_word(folder));
    tasks.push_back(
        {.host = node.host, .command = remote::agent_command(services.agent().hash, words)});
  }
  const auto answers = ask_all(services, tasks, kRemoveTimeout);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    outcomes[i] = attempt([&] { launcher::check({answers[i]}, "removing the folders of jobs"); });
}

}  // namespace

StaleFolders stale_folders(const agent::JobFolders& found, const KnownJobs& known,
                           const agent::JobRetention& retention) {
  std::set<std::string> busy;  // Jobs and arrays of which something runs, here or elsewhere.
  for (const std::string& id : known.running)
    busy.insert(agent::counted_as(id));
  for (const agent::JobFolder& folder : found.folders)
    if (!folder.ended) busy.insert(agent::counted_as(folder.name));
  StaleFolders stale;
  std::vector<agent::JobFolder> of_jobs;
  for (const agent::JobFolder& folder : found.folders) {
    if (!folder.ended) continue;
    if (known.all.contains(job_of(folder.name)))
      of_jobs.push_back(folder);
    else if (!busy.contains(agent::counted_as(folder.name)))
      stale.of_no_job.push_back(folder);
  }
  stale.outdated = agent::outdated(std::move(of_jobs), retention, found.now);
  std::erase_if(stale.outdated, [&](const agent::JobFolder& folder) {
    return busy.contains(agent::counted_as(folder.name));
  });
  return stale;
}

FolderCleaning clean_folders(Services& services, Cleaning cleaning) {
  FolderCleaning out;
  const std::vector<state::Cluster> clusters = services.store().clusters();
  std::vector<AskedNode> nodes = nodes_to_ask(services, clusters);
  if (nodes.empty()) return out;
  nodes = find_stale(services, std::move(nodes), out);
  std::vector<Outcome<void>> outcomes(nodes.size());
  if (cleaning == Cleaning::remove && !nodes.empty()) remove_folders(services, nodes, outcomes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto add = [&](const std::vector<agent::JobFolder>& folders, std::string_view kind) {
      if (!folders.empty())
        out.settled.push_back({.cluster = nodes[i].cluster->name.value,
                               .what = what_of(nodes[i], folders, kind),
                               .outcome = outcomes[i]});
    };
    add(nodes[i].stale.of_no_job, "deleted jobs");
    add(nodes[i].stale.outdated, "jobs beyond keep-jobs");
  }
  return out;
}

}  // namespace fastgpu::cli
