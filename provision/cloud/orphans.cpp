#include "provision/cloud/orphans.hpp"

#include <algorithm>
#include <set>

#include "base/contains.hpp"
#include "base/parallel.hpp"
#include "provision/cloud/ownership.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr std::size_t kDeletionsAtOnce = 8;

/// Returns the images; empty if listing is denied, because then none can have been made.
std::vector<OwnImage> images_in(Cloud& cloud, const std::string& region, const Cancel& cancel) try {
  return cloud.own_images(region, cancel);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::denied) throw;
  return {};
}

std::vector<Orphan> orphans_in(Cloud& cloud, const std::string& region, const std::string& owner,
                               std::span<const state::ClusterId> known, const Cancel& cancel) {
  std::vector<Orphan> found;
  const std::vector<Machine> machines = cloud.machines(region, {}, cancel);
  const std::set<state::ClusterId> others = clusters_of_others(machines, owner);
  const auto is_orphan = [&](const OwnerTags& marks) {
    return marks.owner == owner && !contains(known, marks.cluster) &&
           !others.contains(marks.cluster);
  };
  for (const Machine& machine : machines)
    if (is_orphan(machine.marks) && machine.state != MachineState::ending &&
        machine.state != MachineState::gone)
      found.push_back({Orphan::Kind::instance, machine.id, machine.marks.cluster, region});
  std::set<state::ClusterId> networks;
  for (const CloudPart& part : cloud.parts(region, cancel))
    if (is_orphan(part.marks)) networks.insert(part.marks.cluster);
  for (const state::ClusterId& cluster : networks)
    found.push_back({Orphan::Kind::network, cluster.value, cluster, region});
  for (const OwnImage& image : images_in(cloud, region, cancel))
    if (image.marks.owner == owner && image.state == ImageState::failed)
      found.push_back({Orphan::Kind::image, image.image.id, image.marks.cluster, region});
  return found;
}

}  // namespace

Orphans find_orphans(Cloud& cloud, const std::string& owner,
                     std::span<const state::ClusterId> known, const Cancel& cancel) {
  const auto regions = cloud.regions(cancel);
  const auto answers = parallel_map(
      std::span(regions), kDeletionsAtOnce,
      [&](const std::string& region) { return orphans_in(cloud, region, owner, known, cancel); });
  cancel.check();
  Orphans all;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (answers[i].ok())
      std::ranges::copy(answers[i].value(), std::back_inserter(all.found));
    else
      all.failures.push_back(answers[i].error().during("region " + regions[i]));
  }
  return all;
}

}  // namespace fastgpu::provision::cloud
