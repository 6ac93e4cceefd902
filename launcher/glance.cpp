#include "launcher/glance.hpp"

#include <utility>

namespace fastgpu::launcher {
namespace {

class SilentObserver final : public JobObserver {
 public:
  void output(int, agent::OutputStream, std::string_view) override {}
};

}  // namespace

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

void await_end_at(ssh::Client& client, const ssh::Host& head, const NodeRanks& ranks,
                  NodeCommands commands, const remote::AgentProgram& agent, const Cancel& cancel) {
  SilentObserver nobody;
  FollowingOptions options;
  options.data = false;
  options.renew_lease = Renewal::no;
  options.agent = agent;
  Following(client, {head}, {ranks}, std::move(commands), options, nobody).run(cancel);
}

}  // namespace fastgpu::launcher
