// The data on a cluster's head node for all that may change the cluster: the lease, and the record.
#pragma once

#include "agent/protocol/lease.hpp"
#include "base/cancel.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {

/// A head node. All calls throw what Client::run does, and remote for an invalid answer.
class HeadNode {
 public:
  /// Borrows all. Calls wait this long for the node.
  HeadNode(ssh::Client& client, ssh::Host host, const remote::AgentProgram& agent,
           std::chrono::milliseconds timeout = std::chrono::seconds(30))
      : client_(client), host_(std::move(host)), agent_(agent), timeout_(timeout) {}

  const ssh::Host& host() const noexcept { return host_; }

  agent::LeaseAnswer take_lease(const agent::LeaseRequest& request, const Cancel& cancel);
  void drop_lease(const std::string& holder, const Cancel& cancel);
  /// Sets the owner, for the lease's holder. Throws denied once the lease has run out.
  void own(const std::string& owner, const std::string& taken, const Cancel& cancel);

  /// Replaces the record, by one rename and only if all of it has arrived; an interrupted try
  /// leaves no remains. Does not need the agent. Throws conflict if another than `owner` has taken
  /// the cluster over.
  void put_record(const std::string& text, const std::string& owner, const Cancel& cancel);
  /// Returns the record, at most that many bytes and one. Throws not_found if it is missing.
  std::string record(std::size_t most, const Cancel& cancel);

 private:
  NodeAnswer call(const std::vector<std::string>& words, const Cancel& cancel);

  ssh::Client& client_;
  ssh::Host host_;
  const remote::AgentProgram& agent_;
  std::chrono::milliseconds timeout_;
};

}  // namespace fastgpu::launcher
