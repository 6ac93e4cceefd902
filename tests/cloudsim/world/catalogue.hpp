// What a vendor offers: regions, types, images, prices, stock and quotas.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cloudsim/world/cloud_model.hpp"

namespace fastgpu::cloudsim {

/// The rate limit of an action: a bucket of `burst` tokens that is filled by `per_second`.
struct Rate {
  double burst = 100;
  double per_second = 20;
};

struct Catalogue {
  std::map<std::string, std::vector<std::string>> regions;  ///< The zones of each region.
  std::map<std::string, MachineType> types;
  std::map<std::pair<std::string, std::string>, Offer> offers;  ///< The offers by zone and type.
  std::vector<Image> images;                                    ///< The same in every region.
  /// Quotas by region (or "*") and group, such as "P" or "P/spot". Others have no limit.
  std::map<std::pair<std::string, std::string>, double> quotas;
  bool quota_counts_vcpus = true;  ///< True if quotas count vCPUs, false if they count instances.
  bool lists_terminated = false;   ///< True if reads return a terminated instance for another hour.
  std::map<std::string, Rate> rates;
  std::string currency = "USD";
  double disk_price = 0;  ///< The price of a GB of data disk per hour.

  const Offer* offer(const std::string& zone, const std::string& type) const;
  Offer* offer(const std::string& zone, const std::string& type);
  const MachineType* type(const std::string& name) const;
  const Image* image(const std::string& id) const;
  bool has_zone(const std::string& region, const std::string& zone) const;
  std::optional<double> quota(const std::string& region, const std::string& group) const;
  Rate rate(const std::string& action) const;
};

std::int64_t& stock_of(Offer& offer, Market market);

/// Returns the quota against which a machine of this type counts.
std::string quota_group(const MachineType& type, Market market);

}  // namespace fastgpu::cloudsim
