#include "provision/machine_watch.hpp"

namespace fastgpu::provision {

Error gone_machine(const state::Node& node) {
  return {ErrorKind::capacity, "machine " + node.instance_id + " of " + node.name.value +
                                   " did not start or was taken back"};
}

void MachineWatch::check(std::span<const state::Node> nodes, std::span<const Instance> found) {
  const Clock::time_point now = clock_.now();
  for (const state::Node& node : nodes) {
    const Instance* instance = find_instance(found, node);
    const auto& listed = last_listed_.try_emplace(node.index, now).first->second;
    const bool is_gone = instance == nullptr ? now - listed >= kUnlistedAtMost
                                             : instance->state == InstanceState::gone;
    if (is_gone) throw gone_machine(node);
    if (instance != nullptr) last_listed_[node.index] = now;
  }
}

}  // namespace fastgpu::provision
