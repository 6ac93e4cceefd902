#include "cli/commands/shared/machine.hpp"

#include "provision/providers.hpp"

namespace fastgpu::cli {

MachineSummary machine_of(const state::Cluster& cluster) {
  if (!provision::is_cloud(cluster.provider)) return {};
  const state::CloudSpec& spec = cluster.cloud();
  const std::size_t at = cluster.placement().place;
  if (at >= spec.places.size()) return {.price = std::nullopt};
  const state::Place& place = spec.places[at];
  const bool is_spot = spec.request.market == state::Market::spot;
  return {place.type,
          place.site.region,
          place.site.zone,
          place.gpus,
          is_spot ? "spot" : "on-demand",
          place.price_per_hour};
}

std::string network_word(const state::Cluster& cluster) {
  if (const auto* host = std::get_if<state::HostNetwork>(&*cluster.network)) return host->range;
  if (!provision::is_cloud(cluster.provider)) return {};
  const state::Parts& parts = cluster.placement().parts;
  const auto found = parts.find("vpc");
  return found == parts.end() ? "" : found->second;
}

}  // namespace fastgpu::cli
