#include "cli/workflows/static_answers.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/workflows/cluster_hosts.hpp"
#include "launcher/fan_out.hpp"
#include "provision/failures.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kAfterConnecting{20'000};

HostResult<ssh::Exit> login_of(const launcher::NodeAnswer& answer) {
  const NodeName& node = answer.result.host;
  if (!answer.result.ok() || answer.result.value().code() == 0) return answer.result;
  return {node, Error(ErrorKind::remote, node.value + ": `true` exited with " +
                                             std::to_string(answer.result.value().code()))};
}

/// Returns true for the failure of a host that answers, but lets fastgpu not in.
bool has_answered(const provision::NodeFailure& failure) {
  return failure.error.kind() != ErrorKind::transient && failure.error.kind() != ErrorKind::timeout;
}

std::string title_of(const std::vector<provision::NodeFailure>& failures) {
  if (std::ranges::none_of(failures, has_answered))
    return " has hosts that do not answer, and fastgpu does not start hosts";
  return std::ranges::all_of(failures, has_answered)
             ? " has hosts to which fastgpu cannot log in"
             : " has hosts that do not answer or to which fastgpu cannot log in";
}

}  // namespace

void require_static_hosts_answer(Services& services, const state::Cluster& cluster,
                                 std::span<const state::Node> nodes) {
  if (!provision::provider_info(cluster.provider).needs_hosts_file) return;
  services.messages().progress("logging in to the hosts of " + cluster.name.value);
  const ClusterHosts where(services.store(), cluster);
  std::vector<launcher::NodeTask> tasks;
  for (const state::Node& node : nodes)
    tasks.push_back({.host = where.of(node), .command = "true"});
  const auto limit = services.settings().duration("connect-timeout") + kAfterConnecting;
  std::vector<HostResult<ssh::Exit>> logins;
  for (const auto& answer : launcher::ask(services.ssh(), tasks, limit, services.cancel()))
    logins.push_back(login_of(answer));
  services.cancel().check();
  services.messages().end_progress();
  std::vector<provision::NodeFailure> failures;
  provision::add_failures(failures, logins);
  provision::throw_failures("cluster " + cluster.name.value + title_of(failures), failures);
}

}  // namespace fastgpu::cli
