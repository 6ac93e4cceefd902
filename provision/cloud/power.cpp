#include "provision/cloud/power.hpp"

#include <algorithm>
#include <string>

#include "provision/cloud/batches.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/cluster_machines.hpp"

namespace fastgpu::provision::cloud {
namespace {

/// Returns true if a machine has reached the wanted state, or never will.
bool has_settled(const Machine& machine, MachineState wanted) {
  return machine.state == wanted || machine.state == MachineState::ending ||
         machine.state == MachineState::gone || machine.state == MachineState::failed;
}

/// A start or a stop of some nodes.
class PowerSwitch {
 public:
  PowerSwitch(Cloud& cloud, const Wait& wait, const state::Cluster& cluster,
              std::span<const state::Node> nodes, Power wanted, const Cancel& cancel)
      : cloud_(cloud),
        wait_(wait),
        cluster_(cluster),
        region_(place_of(cluster).site.region),
        nodes_(nodes),
        wanted_(wanted == Power::on ? MachineState::running : MachineState::stopped),
        doing_(wanted == Power::on ? "starting machines" : "stopping machines"),
        cancel_(cancel) {}

  std::vector<HostResult<Instance>> all() {
    await_rest();
    const auto most = static_cast<std::size_t>(cloud_.limits().machines_a_call);
    for (const auto& ids : chunks(ids_to_change(), most))
      order(ids);
    await_settled();
    std::vector<HostResult<Instance>> results;
    for (const state::Node& node : nodes_) {
      const Machine* machine = machine_behind(node);
      if (machine != nullptr && machine->state == wanted_)
        results.push_back({node.name, instance_of(*machine, cluster_.cloud().public_address)});
      else
        results.push_back(
            {node.name, Error(ErrorKind::remote, doing_ + ": " + node.instance_id + " is gone")});
    }
    return results;
  }

 private:
  void look() { there_ = cloud_.machines(region_, cluster_.id, cancel_); }

  const Machine* machine_behind(const state::Node& node) const {
    return machine_of(there_, node.instance_id, node.index);
  }

  /// Waits until the nodes are listed and their states are stable. Clouds refuse orders for a
  /// machine that boots, a start of one that stops, and orders for one that is not known everywhere
  /// yet.
  void await_rest() {
    for (Polling polling(wait_);; pause_for(polling, cancel_, doing_)) {
      look();
      const auto is_awaited = [&](const state::Node& node) {
        const Machine* machine = machine_behind(node);
        if (machine == nullptr) return polling.waited() < kListingTimeout;
        return machine->state == MachineState::pending ||
               (machine->state == MachineState::stopping && wanted_ != MachineState::stopped);
      };
      if (std::ranges::none_of(nodes_, is_awaited)) return;
    }
  }

  std::vector<std::string> ids_to_change() const {
    std::vector<std::string> ids;
    for (const state::Node& node : nodes_) {
      const Machine* machine = machine_behind(node);
      if (machine != nullptr && !has_settled(*machine, wanted_)) ids.push_back(machine->id);
    }
    return ids;
  }

  void order(std::span<const std::string> ids) {
    if (wanted_ == MachineState::running)
      cloud_.start(region_, ids, cancel_);
    else
      cloud_.stop(region_, ids, cancel_);
  }

  void await_settled() {
    for (Polling polling(wait_);; pause_for(polling, cancel_, doing_)) {
      look();
      const auto has_settled_here = [&](const state::Node& node) {
        const Machine* machine = machine_behind(node);
        return machine == nullptr || has_settled(*machine, wanted_);
      };
      if (std::ranges::all_of(nodes_, has_settled_here)) return;
    }
  }

  Cloud& cloud_;
  const Wait& wait_;
  const state::Cluster& cluster_;
  std::string region_;
  std::span<const state::Node> nodes_;
  MachineState wanted_;
  std::string doing_;
  const Cancel& cancel_;
  std::vector<Machine> there_{};  ///< The machines of the last look.
};

}  // namespace

std::vector<HostResult<Instance>> switch_power(Cloud& cloud, const Wait& wait,
                                               const state::Cluster& cluster,
                                               std::span<const state::Node> nodes, Power wanted,
                                               const Cancel& cancel) {
  return PowerSwitch(cloud, wait, cluster, nodes, wanted, cancel).all();
}

}  // namespace fastgpu::provision::cloud
