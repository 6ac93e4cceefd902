#include "cloudsim/world/catalogue.hpp"

#include <algorithm>

#include "base/contains.hpp"

namespace fastgpu::cloudsim {

const Offer* Catalogue::offer(const std::string& zone, const std::string& type) const {
  const auto found = offers.find({zone, type});
  return found == offers.end() ? nullptr : &found->second;
}

Offer* Catalogue::offer(const std::string& zone, const std::string& type) {
  const auto found = offers.find({zone, type});
  return found == offers.end() ? nullptr : &found->second;
}

const MachineType* Catalogue::type(const std::string& name) const {
  const auto found = types.find(name);
  return found == types.end() ? nullptr : &found->second;
}

const Image* Catalogue::image(const std::string& id) const {
  const auto found = std::ranges::find(images, id, &Image::id);
  return found == images.end() ? nullptr : &*found;
}

bool Catalogue::has_zone(const std::string& region, const std::string& zone) const {
  const auto found = regions.find(region);
  return found != regions.end() && contains(found->second, zone);
}

std::optional<double> Catalogue::quota(const std::string& region, const std::string& group) const {
  for (const std::string& where : {region, std::string("*")})
    if (const auto found = quotas.find({where, group}); found != quotas.end()) return found->second;
  return std::nullopt;
}

Rate Catalogue::rate(const std::string& action) const {
  const auto exact = rates.find(action);
  if (exact != rates.end()) return exact->second;
  // "Describe*" matches all actions with this prefix.
  for (const auto& [pattern, rate] : rates)
    if (pattern.ends_with('*') && action.starts_with(pattern.substr(0, pattern.size() - 1)))
      return rate;
  return Rate{};
}

std::int64_t& stock_of(Offer& offer, Market market) {
  return market == Market::spot ? offer.spot_stock : offer.stock;
}

std::string quota_group(const MachineType& type, Market market) {
  return market == Market::spot ? type.family + "/spot" : type.family;
}

}  // namespace fastgpu::cloudsim
