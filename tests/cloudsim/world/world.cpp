#include "cloudsim/world/world.hpp"

#include <algorithm>

#include "cloudsim/world/cidr.hpp"

namespace fastgpu::cloudsim {
namespace {

/// The first addresses of a subnet, which belong to the cloud.
constexpr std::uint32_t kReserved = 4;

Cidr range_of(const Resource& subnet) {
  return parse_cidr(subnet.data.at("cidr"), 1, 32).value_or(Cidr{0, 32});
}

}  // namespace

Time SimulatedWorld::now() const {
  return std::chrono::time_point_cast<milliseconds>(Clock::now()) + ahead_;
}

Time SimulatedWorld::wall_clock() const {
  return std::chrono::time_point_cast<milliseconds>(Clock::now()) + settings.skew;
}

std::string SimulatedWorld::new_id(const std::string& prefix, int length) {
  std::string id = prefix;
  while (int(id.size()) < int(prefix.size()) + length)
    id += "0123456789abcdef"[random_() % 16];
  return id;
}

Instance* SimulatedWorld::find_instance(const Scope& scope, const std::string& id) {
  const auto found = instances.find(id);
  if (found == instances.end()) return nullptr;
  Instance& instance = found->second;
  const milliseconds kept =
      catalogues.at(scope.vendor).lists_terminated ? settings.terminated_listed : milliseconds(0);
  const bool forgotten = instance.ended && *instance.ended + kept <= now();
  return instance.scope == scope && instance.known <= now() && !forgotten ? &instance : nullptr;
}

std::vector<Instance*> SimulatedWorld::instances_of(const Scope& scope) {
  std::vector<Instance*> out;
  for (auto& [id, instance] : instances)
    if (instance.visible <= now() && find_instance(scope, id) != nullptr) out.push_back(&instance);
  return out;
}

Resource& SimulatedWorld::add(const Scope& scope, const std::string& kind, const std::string& id) {
  Resource& resource = resources[id];
  resource.scope = scope;
  resource.kind = kind;
  resource.id = id;
  resource.created = now();
  return resource;
}

Resource* SimulatedWorld::find(const Scope& scope, const std::string& kind, const std::string& id) {
  const auto found = resources.find(id);
  if (found == resources.end()) return nullptr;
  Resource& resource = found->second;
  const bool there = resource.scope == scope && resource.kind == kind && !resource.deleted;
  return there ? &resource : nullptr;
}

std::vector<Resource*> SimulatedWorld::resources_of(const Scope& scope, const std::string& kind) {
  std::vector<Resource*> out;
  for (auto& [id, resource] : resources)
    if (find(scope, kind, id) != nullptr) out.push_back(&resource);
  return out;
}

std::string SimulatedWorld::user_of(const std::string& id) const {
  for (const auto& [other, resource] : resources)
    if (!resource.deleted && resource.part_of != id && resource.uses.contains(id)) return other;
  return "";
}

void SimulatedWorld::remove(Resource& resource) {
  if (const std::string user = user_of(resource.id); !user.empty())
    throw ApiFailure(ApiFailureKind::in_use, resource.id, resource.id + " is used by " + user);
  resource.deleted = now();
  remove_parts_of(resource.id);
}

void SimulatedWorld::remove_parts_of(const std::string& id) {
  for (auto& [other, resource] : resources)
    if (resource.part_of == id && !resource.deleted) resource.deleted = now();
  if (const auto gone = instances.find(id); gone != instances.end()) {
    taken_[gone->second.subnet].erase(parse_address(gone->second.subnet_address));
  }
}

int SimulatedWorld::free_addresses(const Resource& subnet) const {
  const auto taken = taken_.find(subnet.id);
  const std::size_t used = taken == taken_.end() ? 0 : taken->second.size();
  // The last address is for broadcasts.
  return int(range_of(subnet).size()) - int(kReserved) - 1 - int(used);
}

std::string SimulatedWorld::take_address(const Resource& subnet) {
  const Cidr range = range_of(subnet);
  std::set<std::uint32_t>& taken = taken_[subnet.id];
  std::uint32_t address = range.first + kReserved;
  for (const std::uint32_t used : taken) {
    if (used != address) break;
    ++address;
  }
  if (address >= range.first + range.size() - 1)
    throw ApiFailure(ApiFailureKind::addresses_used_up, subnet.id, subnet.id + " has none left");
  taken.insert(address);
  return dotted(address);
}

std::string SimulatedWorld::new_public_address() {
  // 198.18.0.0/15 is reserved for benchmarks.
  constexpr std::uint32_t kBenchmarks = 198U << 24 | 18U << 16;
  return dotted(kBenchmarks + ++public_addresses_);
}

}  // namespace fastgpu::cloudsim
