#include "provision/cloud/cloud_provider.hpp"

#include <utility>

#include "provision/cloud/at_once.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/cluster_machines.hpp"
#include "provision/cloud/orphans.hpp"
#include "provision/cloud/power.hpp"

namespace fastgpu::provision::cloud {

using Results = std::vector<HostResult<Instance>>;

CloudProvider::CloudProvider(Cloud& cloud, Owner owner, const Wait& wait, const Cancel& stop)
    : cloud_(cloud),
      owner_(std::move(owner)),
      wait_(wait),
      launcher_(cloud, wait),
      remover_(cloud, wait),
      stop_(stop) {}

void CloudProvider::check_usable() {
  if (!cloud_.has_accepted_us()) cloud_.account(stop_);
}

std::string CloudProvider::difference(const state::Cluster& there,
                                      const state::ProviderSpec& wanted) const {
  return cloud::difference(there.cloud(), std::get<CloudSpec>(wanted));
}

void CloudProvider::rename(const state::Cluster& cluster, const Cancel& cancel) {
  write_name(cloud_, cluster, cancel);
}

void CloudProvider::choose_image(const CloudSpec& spec, CloudPlacement& placement) {
  const Place place = place_of(spec, placement);
  const auto images = cloud_.images(place.site.region, spec.image, place.type, stop_);
  if (images.empty())
    throw Error(ErrorKind::not_found, "no image in " + place.site.region + " suits " + place.type);
  placement.image = images.front().id;
  placement.root_device = images.front().root_device;
  placement.key_pairs.clear();
  for (const std::string& key_pair : spec.key_pairs)
    placement.key_pairs.push_back(cloud_.public_key(place.site.region, key_pair, stop_));
}

state::Network CloudProvider::prepare(const state::Cluster& cluster, bool may_be_there) {
  const CloudSpec& spec = cluster.cloud();
  CloudPlacement placement = cluster.placement();
  const Place place = place_of(spec, placement);
  const NetworkRequest network{.marks = {cluster.id, cluster.name.value, owner_.mark()},
                               .site = place.site,
                               .vpc = user_vpc(spec, placement),
                               .ssh_from = spec.ssh_from,
                               .close_together = spec.rdma,
                               .type = place.type,
                               .may_be_there = may_be_there,
                               .known = own_parts(cluster)};
  const bool must_choose = placement.image.empty();
  // The image and the key pairs that the user named are checked first: if one is missing, nothing
  // is made.
  const bool is_named = !spec.image.empty() || !spec.key_pairs.empty();
  if (must_choose && is_named) choose_image(spec, placement);
  Parts parts;
  Tasks tasks = {[&] { parts = cloud_.make_network(network, stop_); }};
  if (must_choose && !is_named) tasks.emplace_back([&] { choose_image(spec, placement); });
  at_once(tasks);
  placement.parts = std::move(parts);
  return placement;
}

std::vector<IpRange> CloudProvider::open_ranges(const state::Cluster& cluster,
                                                const Cancel& cancel) {
  return cloud_.open_ranges({.marks = {cluster.id, cluster.name.value, owner_.mark()},
                             .site = place_of(cluster).site,
                             .known = own_parts(cluster)},
                            cancel);
}

void CloudProvider::close_ranges(const state::Cluster& cluster, std::span<const IpRange> ranges,
                                 const Cancel& cancel) {
  cloud_.close_ranges({.marks = {cluster.id, cluster.name.value, owner_.mark()},
                       .site = place_of(cluster).site,
                       .ssh_from = {ranges.begin(), ranges.end()},
                       .known = own_parts(cluster)},
                      cancel);
}

Storage CloudProvider::storage(const state::Cluster& cluster) const {
  return storage_of(cluster.cloud(), cluster.provider);
}

Provider::Places CloudProvider::places(const state::Cluster& cluster) const {
  return {.count = cluster.cloud().places.size(), .here = cluster.placement().place};
}

state::Network CloudProvider::network_at(const state::Cluster& /*cluster*/,
                                         std::size_t place) const {
  return CloudPlacement{.place = place};
}

std::optional<Money> CloudProvider::price_per_hour(const state::Cluster& cluster) const {
  return price_of(cluster);
}

Results CloudProvider::create(const state::Cluster& cluster, std::span<const NodeRequest> requests,
                              const Cancel& cancel) {
  return launcher_.create(cluster, owner_.mark(), requests, cancel);
}

std::vector<Instance> CloudProvider::list(const state::Cluster& cluster, const Cancel& cancel) {
  return instances_of(machines_and_ended_of(cloud_, cluster, cancel), place_of(cluster),
                      owner_.known().value_or(""), cluster.cloud().public_address);
}

Results CloudProvider::start(const state::Cluster& cluster, std::span<const state::Node> nodes,
                             const Cancel& cancel) {
  return switch_power(cloud_, wait_, cluster, nodes, Power::on, cancel);
}

Results CloudProvider::stop(const state::Cluster& cluster, std::span<const state::Node> nodes,
                            const Cancel& cancel) {
  return switch_power(cloud_, wait_, cluster, nodes, Power::off, cancel);
}

Results CloudProvider::destroy(const state::Cluster& cluster, std::span<const state::Node> nodes) {
  remover_.end(cluster, nodes);
  Results results;
  for (const state::Node& node : nodes)
    results.push_back({node.name, Instance{.index = node.index,
                                           .id = node.instance_id,
                                           .token = node.token,
                                           .state = InstanceState::gone}});
  return results;
}

std::optional<Error> CloudProvider::release(const state::Cluster& cluster,
                                            const ReleaseLimits& limits) {
  return remover_.remove(cluster, limits);
}

Orphans CloudProvider::orphans(std::span<const state::ClusterId> known) {
  const auto owner = owner_.known();
  if (!owner) return {};
  if (!cloud_.has_credentials())
    return {.not_asked = Error(ErrorKind::denied,
                               std::string(name()) +
                                   ": no credentials found: `fastgpu get providers` shows where "
                                   "each cloud reads them")};
  return find_orphans(cloud_, *owner, known, stop_);
}

void CloudProvider::remove_orphan(const Orphan& orphan) {
  if (orphan.kind == Orphan::Kind::instance) {
    cloud_.terminate(orphan.region, std::span(&orphan.id, 1));
  } else if (orphan.kind == Orphan::Kind::image) {
    for (const OwnImage& image : cloud_.own_images(orphan.region, never_))
      if (image.image.id == orphan.id) cloud_.remove_image(orphan.region, image);
  } else {
    constexpr ReleaseLimits kShort{.network = std::chrono::seconds(30)};
    if (const auto stays = remover_.remove_in(orphan.region, orphan.cluster, {}, kShort))
      throw Error(*stays);
  }
}

}  // namespace fastgpu::provision::cloud
