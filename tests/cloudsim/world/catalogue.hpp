// What a vendor sells: regions, types, images, prices, stock and quota.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cloudsim/world/model.hpp"

namespace fastgpu::cloudsim {

/// How fast one action may be called: a bucket of `burst` tokens that fills by `per_second`.
struct Rate {
  double burst = 100;
  double per_second = 20;
};

struct Catalogue {
  std::map<std::string, std::vector<std::string>> regions;  ///< Each with its zones.
  std::map<std::string, MachineType> types;
  std::map<std::pair<std::string, std::string>, Offer> offers;  ///< By zone and type.
  std::vector<Image> images;                                    ///< The same in every region.
  /// By region (or "*") and group, such as "P" or "P/spot"; what is not named is endless.
  std::map<std::pair<std::string, std::string>, double> quotas;
  bool quota_counts_vcpus = true;  ///< Otherwise instances.
  bool lists_terminated = false;   ///< Reads still know a terminated instance for an hour.
  std::map<std::string, Rate> rates;
  std::string currency = "USD";
  double disk_price = 0;  ///< Of a GB of data disks, an hour.

  const Offer* offer(const std::string& zone, const std::string& type) const;
  Offer* offer(const std::string& zone, const std::string& type);
  const MachineType* type(const std::string& name) const;
  const Image* image(const std::string& id) const;
  bool has_zone(const std::string& region, const std::string& zone) const;
  std::optional<double> quota(const std::string& region, const std::string& group) const;
  Rate rate(const std::string& action) const;
};

std::int64_t& stock_of(Offer& offer, Market market);

/// The quota that a machine of this type counts against.
std::string quota_group(const MachineType& type, Market market);

}  // namespace fastgpu::cloudsim
