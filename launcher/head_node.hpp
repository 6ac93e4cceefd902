// What a cluster's head node keeps for all who may change the cluster: the lease, and the record.
#pragma once

#include "agent/protocol/lease.hpp"
#include "base/cancel.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {

/// Throws what Client::run does, and remote where the node answers nonsense.
class HeadNode {
 public:
  /// All borrowed. Calls wait so long for the node.
  HeadNode(ssh::Client& client, ssh::Host host, const remote::AgentProgram& agent,
           std::chrono::milliseconds patience = std::chrono::seconds(30))
      : client_(client), host_(std::move(host)), agent_(agent), patience_(patience) {}

  const ssh::Host& host() const noexcept { return host_; }

  agent::LeaseAnswer take_lease(const agent::LeaseWish& wish, const Cancel& cancel);
  void drop_lease(const std::string& holder, const Cancel& cancel);
  /// For the lease's holder. Throws denied once the lease has run out.
  void own(const std::string& owner, const std::string& taken, const Cancel& cancel);

  /// Replaces the record, by one rename and only if all of it has arrived; nothing is left of a try
  /// that was cut off. Does not need the agent. Throws conflict where another than `owner` has
  /// taken the cluster over.
  void put_record(const std::string& text, const std::string& owner, const Cancel& cancel);
  /// At most that many bytes and one. Throws not_found where there is none.
  std::string record(std::size_t most, const Cancel& cancel);

 private:
  NodeAnswer call(const std::vector<std::string>& words, const Cancel& cancel);

  ssh::Client& client_;
  ssh::Host host_;
  const remote::AgentProgram& agent_;
  std::chrono::milliseconds patience_;
};

}  // namespace fastgpu::launcher
