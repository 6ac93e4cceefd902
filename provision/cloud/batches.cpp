#include "provision/cloud/batches.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "provision/cloud/ownership.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::cloud {
namespace {

InstanceState state_of(MachineState state) {
  switch (state) {
    case MachineState::pending:
      return InstanceState::pending;
    case MachineState::running:
      return InstanceState::running;
    case MachineState::stopping:
    case MachineState::stopped:
      return InstanceState::stopped;
    case MachineState::ending:
    case MachineState::gone:
    case MachineState::failed:
      return InstanceState::gone;
  }
  return InstanceState::gone;
}

auto age_order(const Machine& machine) {
  return std::tie(machine.launched, machine.id);
}

bool is_alive(const Machine& machine) {
  return state_of(machine.state) != InstanceState::gone;
}

bool has_ended(const Machine& machine) {
  return machine.state == MachineState::ending || machine.state == MachineState::gone;
}

/// Returns the instance of a machine that has ended. It is only returned as the node of its index,
/// so that the node is known to be lost; a machine that replaces it takes its place.
std::optional<Instance> ended_instance(const Machine& machine, std::span<const Machine> here,
                                       const Place& place, PublicAddress which) {
  const bool is_replaced = machine_of(here, machine.index) != nullptr;
  if (machine.index < 0 || is_replaced || !is_at(machine, place)) return std::nullopt;
  return instance_of(machine, which);
}

}  // namespace

std::vector<std::vector<NodeRequest>> batches(std::span<const NodeRequest> requests, int most,
                                              PublicAddress which) {
  std::vector<NodeRequest> ordered(requests.begin(), requests.end());
  std::ranges::sort(ordered, {}, &NodeRequest::index);
  std::vector<std::vector<NodeRequest>> result;
  for (NodeRequest& request : ordered) {
    const auto is_public = [which](int index) { return has_public_address(which, index); };
    const bool fits = !result.empty() && result.back().back().index + 1 == request.index &&
                      result.back().size() < static_cast<std::size_t>(most) &&
                      is_public(result.back().back().index) == is_public(request.index);
    if (!fits) result.emplace_back();
    result.back().push_back(std::move(request));
  }
  return result;
}

std::string batch_token(std::span<const NodeRequest> batch, const Place& place) {
  std::string text = place.site.region + "\n" + place.site.zone + "\n" + place.type;
  for (const NodeRequest& request : batch)
    text += "\n" + request.token;
  return signing::sha256_hex(text).substr(0, 32);
}

const Machine* machine_of(std::span<const Machine> machines, int index) {
  const Machine* found = nullptr;
  for (const Machine& machine : machines)
    if (machine.index == index && is_alive(machine) &&
        (found == nullptr || age_order(machine) < age_order(*found)))
      found = &machine;
  return found;
}

const Machine* machine_of(std::span<const Machine> machines, const std::string& id, int index) {
  // Must agree with instances_of on the machine that is the node; the others are strays.
  if (const Machine* found = machine_of(machines, index)) return found;
  const auto recorded = id.empty() ? machines.end() : std::ranges::find(machines, id, &Machine::id);
  return recorded != machines.end() && is_alive(*recorded) ? &*recorded : nullptr;
}

Instance instance_of(const Machine& machine, PublicAddress which) {
  const bool is_reached_inside = machine.address.empty() &&
                                 machine.state != MachineState::pending &&
                                 !has_public_address(which, machine.index);
  return {.index = machine.index,
          .id = machine.id,
          .token = {},
          .state = state_of(machine.state),
          .address = (is_reached_inside ? machine.private_address : machine.address).text(),
          .private_address = machine.private_address.text()};
}

bool is_at(const Machine& machine, const Place& place) {
  return machine.site == place.site && machine.type == place.type;
}

std::vector<Instance> instances_of(std::span<const Machine> machines, const Place& place,
                                   const std::string& owner, PublicAddress which) {
  std::vector<Machine> here;
  for (const Machine& machine : machines)
    if (is_at(machine, place)) here.push_back(machine);
  std::vector<Instance> result;
  for (const Machine& machine : machines) {
    if (has_ended(machine)) {
      if (const auto ended = ended_instance(machine, here, place, which)) result.push_back(*ended);
      continue;
    }
    // A machine of unknown index may be any node: its id decides.
    const Machine* node = machine.index < 0 ? nullptr : machine_of(here, machine.index);
    const bool is_node = node != nullptr ? node->id == machine.id : is_at(machine, place);
    result.push_back(instance_of(machine, which));
    if (!is_node) result.back().token = "stray " + machine.id;
    if (!is_owned_by(machine, owner))
      result.back().owner = owner_text(machine.marks.owner, machine.taken);
  }
  return result;
}

std::vector<std::vector<std::string>> chunks(std::span<const std::string> ids, std::size_t most) {
  std::vector<std::vector<std::string>> result;
  for (const std::string& id : ids) {
    if (result.empty() || result.back().size() == most) result.emplace_back();
    result.back().push_back(id);
  }
  return result;
}

std::vector<std::string> ids_of(std::span<const Machine> machines) {
  std::vector<std::string> ids;
  for (const Machine& machine : machines)
    ids.push_back(machine.id);
  return ids;
}

}  // namespace fastgpu::provision::cloud
