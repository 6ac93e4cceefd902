// On-demand prices of EC2, from AWS's price list service.
#pragma once

#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "provision/cloud/model.hpp"
#include "provision/providers/aws/ec2.hpp"

namespace fastgpu::provision::aws {

/// The prices of one machine for an hour, by region.
using PricesByRegion = std::map<std::string, Money>;

/// Adds the prices from a page of GetProducts. Leaves out those that cannot be read.
void add_prices(const cloud::Answer& page, PricesByRegion& prices);

/// The price list. It has one endpoint for the whole world and allows few calls a second. A type's
/// prices are read once, for all regions, however many threads ask for them.
class Prices {
 public:
  explicit Prices(Ec2& ec2) : ec2_(ec2) {}

  /// Returns the price; absent if it is unknown. Throws as Ec2::json does, in every thread that
  /// asks for that type.
  std::optional<Money> of(const std::string& type, const std::string& region, const Cancel& cancel);

 private:
  /// Reads the prices. `list` is the region with the price list.
  PricesByRegion ask(const std::string& type, const std::string& list, const Cancel& cancel);

  Ec2& ec2_;
  std::mutex mutex_;
  /// The prices by list and type.
  std::map<std::string, std::shared_future<PricesByRegion>> by_type_;
};

}  // namespace fastgpu::provision::aws
