#include "provision/cloud/cloud_spec.hpp"

#include <algorithm>
#include <set>

#include "base/contains.hpp"
#include "provision/providers.hpp"

namespace fastgpu::provision::cloud {
namespace {

std::string shown(const std::string& value) {
  return value.empty() ? "any" : value;
}

std::string shown_size(int gib) {
  return gib == 0 ? "as large as the image's" : "of " + std::to_string(gib) + " GiB";
}

bool holds_all(const std::vector<std::string>& there, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& one) { return contains(there, one); });
}

std::string shown_disk(const CloudSpec& spec) {
  return spec.request.data_disk.gib == 0 ? "none" : to_text(spec.request.data_disk);
}

std::string shown(const std::optional<Money>& price) {
  return price ? to_string(*price) : "none";
}

}  // namespace

bool has_public_address(PublicAddress which, int index) noexcept {
  return which == PublicAddress::all || (which == PublicAddress::head && index == kHead);
}

Storage storage_of(const CloudSpec& spec, std::string_view cloud) {
  return {.has_data_disk = spec.request.data_disk.gib > 0,
          .mounts = spec.mounts,
          .nfs_options = std::string(provider_info(cloud).nfs_options)};
}

std::string difference(const CloudSpec& there, const CloudSpec& wanted) {
  const auto differ = [](const std::string& what, const std::string& one,
                         const std::string& other) {
    return one == other ? "" : "with " + what + " " + one + ", not " + other;
  };
  const auto gpus = [](const MachineRequest& request) {
    return request.gpus == 0 ? shown(request.gpu)
                             : shown(request.gpu) + ":" + std::to_string(request.gpus);
  };
  const auto market = [](const MachineRequest& request) {
    return std::string(request.market == Market::spot ? "spot" : "on-demand");
  };
  for (const std::string& found : {
           differ("GPUs", gpus(there.request), gpus(wanted.request)),
           differ("type", shown(there.request.type), shown(wanted.request.type)),
           differ("region", shown(there.region), shown(wanted.region)),
           differ("zone", shown(there.request.zone), shown(wanted.request.zone)),
           differ("market", market(there.request), market(wanted.request)),
           differ("maximum price", shown(there.request.max_price), shown(wanted.request.max_price)),
           differ("reservation", shown(there.request.reservation),
                  shown(wanted.request.reservation)),
           differ("image", shown(there.image), shown(wanted.image)),
           differ("network", shown(there.vpc), shown(wanted.vpc)),
           differ("public addresses", std::string(to_string(there.public_address)),
                  std::string(to_string(wanted.public_address))),
           differ("data disk", shown_disk(there), shown_disk(wanted)),
           differ("system disk", shown_size(there.disk_gib), shown_size(wanted.disk_gib)),
           differ("RDMA", there.rdma ? "on" : "off", wanted.rdma ? "on" : "off"),
       })
    if (!found.empty()) return found;
  for (const Mount& mount : wanted.mounts)
    if (!contains(there.mounts, mount))
      return "without " + mount.source + " at " + mount.path + " (`fastgpu mount` adds it)";
  for (const IpRange& range : wanted.ssh_from)
    if (!contains(there.ssh_from, range))
      return "and does not let " + range.text() + " log in (`fastgpu addip` adds it)";
  if (!holds_all(there.ssh_keys, wanted.ssh_keys)) return "without one of the keys of --ssh-key";
  if (!holds_all(there.key_pairs, wanted.key_pairs)) return "without one of --key-pair";
  return {};
}

Place place_of(const CloudSpec& spec, const CloudPlacement& placement) {
  if (placement.place >= spec.places.size())
    throw Error(ErrorKind::local,
                "corrupt state: the cluster's place is not among its planned places");
  return spec.places[placement.place];
}

Place place_of(const state::Cluster& cluster) {
  return place_of(cluster.cloud(), cluster.placement());
}

std::vector<std::string> regions_of(const state::Cluster& cluster) {
  std::set<std::string> regions;
  for (const Place& place : cluster.cloud().places)
    regions.insert(place.site.region);
  return {regions.begin(), regions.end()};
}

state::Parts own_parts(const state::Cluster& cluster) {
  state::Parts parts = cluster.placement().parts;
  if (!cluster.cloud().vpc.empty())
    std::erase_if(parts, [](const auto& part) {
      return part.first == "vpc" || part.first == "subnet" || part.first == "vswitch";
    });
  return parts;
}

std::string user_vpc(const CloudSpec& spec, const CloudPlacement& placement) {
  const auto recorded = placement.parts.find("vpc");
  return spec.vpc.empty() || recorded == placement.parts.end() ? spec.vpc : recorded->second;
}

std::optional<Money> price_of(const state::Cluster& cluster) {
  const std::vector<Place>& places = cluster.cloud().places;
  const std::size_t place = cluster.placement().place;
  return place < places.size() ? places[place].price_per_hour : std::nullopt;
}

}  // namespace fastgpu::provision::cloud
