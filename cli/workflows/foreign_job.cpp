#include "cli/workflows/foreign_job.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/lookup.hpp"
#include "launcher/found_job.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the number in an id such as "train-3" or "sweep-1.7"; absent in a name.
std::optional<int> number_in(const std::string& id) {
  const auto dash = id.rfind('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto value = to_number<int>(id.substr(dash + 1, id.find('.', dash) - dash - 1));
  return value && *value > 0 ? value : std::nullopt;
}

/// Returns the job of this machine that has the id, or the newest one that has the name.
std::optional<state::Job> known_job(Services& services, const std::string& word) {
  if (auto job = services.store().find_job(word)) return job;
  for (state::Job& job : services.store().jobs())
    if (job.id.substr(0, job.id.rfind('-')) == word) return std::move(job);
  return std::nullopt;
}

}  // namespace

void record_foreign_job(Services& services, const std::string& id, const std::string& cluster) {
  const state::Cluster where = find_cluster(services, cluster);
  if (const auto known = known_job(services, id)) {
    if (known->cluster == where.id) return;
    throw Error(ErrorKind::conflict, "job " + known->id +
                                         " of this machine is on another cluster: fastgpu "
                                         "describe job " +
                                         known->id);
  }
  const auto number = number_in(id);
  if (!number)
    throw Error(ErrorKind::usage, "'" + printable(id) +
                                      "' is not the id of a job, such as train-3: a job of another "
                                      "machine is named by its id");
  const ClusterHosts hosts_of(services.store(), where);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : services.store().nodes(where.id))
    if (node.state == state::NodeState::running) hosts.push_back(hosts_of.of(node));
  const launcher::JobRecord record =
      launcher::find_on_nodes(services.ssh(), hosts, services.agent(), id, services.cancel());
  state::Job job{.id = id, .cluster = where.id, .record = record, .reason = {}};
  job.state = state::JobState::running;
  job.created = std::chrono::system_clock::now();
  services.store().atomically([&] {
    if (services.store().find_job(id)) return;  // Another command has recorded it meanwhile.
    services.store().insert_foreign_job(job, record.spec.name, *number);
  });
}

}  // namespace fastgpu::cli
