#include <algorithm>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {
std::vector<std::string> SimulatedWorld::repeated(const LaunchOrder& order,
                                                  const Launched& before) const {
  if (before.fingerprint != order.fingerprint)
    throw ApiFailure(ApiFailureKind::token_mismatch, order.token,
                     "the token came with other parameters before");
  const bool all_gone = std::ranges::all_of(before.ids, [this](const std::string& id) {
    return instances.at(id).state == State::terminated;
  });
  if (all_gone && !order.token_outlives)
    throw ApiFailure(ApiFailureKind::token_terminated, order.token,
                     "the instances of this token are terminated");
  return before.ids;
}

double SimulatedWorld::quota_used(const Scope& scope, const std::string& group) const {
  const Catalogue& catalogue = catalogues.at(scope.vendor);
  double used = 0;
  for (const auto& [id, instance] : instances) {
    if (instance.scope != scope || instance.state == State::terminated ||
        instance.state == State::failed)
      continue;
    const MachineType& type = *catalogue.type(instance.type);
    if (quota_group(type, instance.market) == group)
      used += catalogue.quota_counts_vcpus ? type.vcpus : 1;
  }
  return used;
}

int SimulatedWorld::affordable(const LaunchOrder& order, Offer& offer) const {
  const Catalogue& catalogue = catalogues.at(order.scope.vendor);
  const MachineType& type = *catalogue.type(order.like.type);
  const std::string group = quota_group(type, order.like.market);
  int count = order.maximum;
  if (const auto limit = catalogue.quota(order.scope.region, group)) {
    const double each = catalogue.quota_counts_vcpus ? type.vcpus : 1;
    const double left = std::max(0.0, *limit - quota_used(order.scope, group));
    count = int(std::min(double(count), left / each));
    if (count < order.minimum)
      throw ApiFailure(
          ApiFailureKind::quota, group,
          "the limit of " + std::to_string(int(*limit)) + " for " + group + " would be passed");
  }
  if (const std::int64_t stock = stock_of(offer, order.like.market); stock >= 0)
    count = int(std::min(std::int64_t(count), stock));
  if (count < order.minimum)
    throw ApiFailure(ApiFailureKind::no_stock, order.like.type,
                     "not enough " + order.like.type + " in " + order.like.zone);
  return count;
}

std::string SimulatedWorld::add_instance(const LaunchOrder& order, const std::string& id,
                                         int index) {
  Instance& instance = instances[id] = order.like;
  instance.scope = order.scope;
  instance.id = id;
  instance.token = order.token;
  instance.launch_index = index;
  instance.created = now();
  instance.visible = instance.created + settings.listing_delay;
  instance.known = instance.created + std::min(settings.listing_delay, settings.known_delay);
  if (const Resource* subnet = find(order.scope, "subnet", instance.subnet))
    instance.private_address = instance.subnet_address = take_address(*subnet);
  instance.runs.push_back(Run{instance.created});
  if (boot_failure.count > 0) {
    --boot_failure.count;
    instance.boot_fails = true;
    instance.reason = boot_failure.reason;
  }
  begin_boot(instance, State::pending);
  return id;
}

std::vector<std::string> SimulatedWorld::launch(const LaunchOrder& order,
                                                const std::string& id_prefix, int id_length) {
  const auto key = std::make_pair(order.scope, order.token);
  if (!order.token.empty())
    if (const auto before = tokens_.find(key); before != tokens_.end())
      return repeated(order, before->second);
  Catalogue& catalogue = catalogues.at(order.scope.vendor);
  Offer* offer = catalogue.offer(order.like.zone, order.like.type);
  if (offer == nullptr)
    throw ApiFailure(ApiFailureKind::not_offered, order.like.type,
                     order.like.type + " is not sold in " + order.like.zone);
  if (order.like.market == Market::spot && order.highest_price >= 0 &&
      order.highest_price < offer->spot_price)
    throw ApiFailure(ApiFailureKind::price_too_low, order.like.type,
                     "the spot price is " + std::to_string(offer->spot_price));
  const Resource* subnet = find(order.scope, "subnet", order.like.subnet);
  if (subnet != nullptr && free_addresses(*subnet) < order.minimum)
    throw ApiFailure(ApiFailureKind::addresses_used_up, subnet->id,
                     subnet->id + " has too few left");
  int count = affordable(order, *offer);
  if (subnet != nullptr) count = std::min(count, free_addresses(*subnet));
  LaunchOrder priced = order;
  priced.like.price = order.like.market == Market::spot ? offer->spot_price : offer->price;
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i)
    ids.push_back(add_instance(priced, new_id(id_prefix, id_length), i));
  if (std::int64_t& stock = stock_of(*offer, order.like.market); stock >= 0) stock -= count;
  if (!order.token.empty()) tokens_[key] = Launched{order.fingerprint, ids};
  return ids;
}

void SimulatedWorld::give_back_stock(Instance& instance) {
  if (!instance.holds_stock) return;
  instance.holds_stock = false;
  Offer* offer = catalogues.at(instance.scope.vendor).offer(instance.zone, instance.type);
  if (offer == nullptr) return;
  if (std::int64_t& stock = stock_of(*offer, instance.market); stock >= 0) ++stock;
}

}  // namespace fastgpu::cloudsim
