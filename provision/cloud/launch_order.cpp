#include "provision/cloud/launch_order.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

#include "provision/cloud/batches.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/user_data.hpp"
#include "provision/guards.hpp"

namespace fastgpu::provision::cloud {
namespace {

using namespace std::chrono_literals;

/// Sets the end of a machine at its launch. A repeated launch must be the same launch: while the
/// cluster is being created, all times count from its creation.
void set_end(Launch& launch, FirstBoot& boot, const state::Cluster& cluster, const Place& place,
             bool has_timer) {
  // The least time for reaching the machine and changing its end.
  constexpr std::chrono::seconds kShortest = 5min;
  const auto now = std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now());
  const auto start = cluster.state == state::ClusterState::creating ? cluster.created : now;
  const Guards& guards = *cluster.guards;
  const auto end = first_end(guards, cluster.created, start, place.price_per_hour,
                             cluster.cloud().request.nodes);
  if (end && (has_timer || !guards.idle_stop)) launch.release_at = *end;
  if (!has_timer && guards.idle_delete && !guards.idle_stop)
    launch.release_at = end.value_or(start);
  if (end && !has_timer)
    boot.shut_down_after =
        std::max(kShortest, std::chrono::duration_cast<std::chrono::seconds>(*end - start));
}

/// Returns the maximum price of a spot machine, in the currency of the place. Older records have
/// only the price of the request, in that currency.
std::optional<Money> max_price_of(const CloudSpec& spec, const Place& place) {
  if (place.max_price || !spec.request.max_price) return place.max_price;
  if (place.price_per_hour && place.price_per_hour->currency == spec.request.max_price->currency)
    return spec.request.max_price;
  throw Error(ErrorKind::local, "the maximum price of " + place.type + " in " + place.site.zone +
                                    " is on record in another currency than its price");
}

/// Returns the number of machines below which the launch fails as a whole.
int least_of(std::span<const NodeRequest> batch, const Limits& limits) {
  const bool is_whole = std::ranges::all_of(batch, &NodeRequest::all_or_nothing);
  return is_whole || !limits.has_partial_launch ? static_cast<int>(batch.size()) : 1;
}

FirstBoot first_boot_of(const state::Cluster& cluster, const NodeRequest& first) {
  const CloudSpec& spec = cluster.cloud();
  FirstBoot boot{.user = cluster.user,
                 .authorized_keys = {first.authorized_key},
                 .host_private_key = first.host_private_key,
                 .host_public_key = first.host_public_key,
                 .data_disk_gib = spec.request.data_disk.gib};
  std::ranges::copy(spec.ssh_keys, std::back_inserter(boot.authorized_keys));
  std::ranges::copy(cluster.placement().key_pairs, std::back_inserter(boot.authorized_keys));
  return boot;
}

}  // namespace

Launch launch_of(const state::Cluster& cluster, const std::string& owner,
                 std::span<const NodeRequest> batch, const Limits& limits) {
  const CloudSpec& spec = cluster.cloud();
  const CloudPlacement& placement = cluster.placement();
  const Place place = place_of(cluster);
  const NodeRequest& first = batch.front();
  Launch launch{.marks = {cluster.id, cluster.name.value, owner},
                .site = place.site,
                .type = place.type,
                .image = placement.image,
                .network = placement.parts,
                .market = spec.request.market,
                .max_price = max_price_of(spec, place),
                .disk_gib = spec.disk_gib,
                .root_device = placement.root_device,
                .data_disk = spec.request.data_disk,
                .first = first.index,
                .count = static_cast<int>(batch.size()),
                .least = least_of(batch, limits),
                .token = batch_token(batch, place),
                .rdma = spec.rdma,
                .rdma_interfaces = spec.rdma ? place.rdma_interfaces : 0,
                .rdma_cards = spec.rdma ? place.rdma_cards : std::vector<int>(),
                .has_public_address = has_public_address(spec.public_address, first.index),
                .reservation = spec.request.reservation};
  FirstBoot boot = first_boot_of(cluster, first);
  set_end(launch, boot, cluster, place, limits.has_timer);
  launch.user_data = user_data(boot);
  return launch;
}

}  // namespace fastgpu::provision::cloud
