#include "cli/commands/shared/machine.hpp"

#include "provision/cloud/cloud_spec.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {

Machine machine_of(const state::Cluster& cluster) {
  if (!provision::is_cloud(cluster.provider)) return {};
  const auto spec = provision::cloud::parse_cloud_spec(cluster.spec_json);
  const std::size_t at = provision::cloud::parse_cloud_placement(cluster.network).place;
  if (at >= spec.places.size()) return {.price = std::nullopt};
  const provision::cloud::Place& place = spec.places[at];
  const bool is_spot = spec.request.market == provision::cloud::Market::spot;
  return {place.type,
          place.site.region,
          place.site.zone,
          place.gpus,
          is_spot ? "spot" : "on-demand",
          place.price_per_hour};
}

std::string network_word(const state::Cluster& cluster) {
  if (!provision::is_cloud(cluster.provider)) return cluster.network;
  const auto parts = provision::cloud::parse_cloud_placement(cluster.network).parts;
  const auto found = parts.find("vpc");
  return found == parts.end() ? "" : found->second;
}

}  // namespace fastgpu::cli
