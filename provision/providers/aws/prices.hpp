// On-demand prices of EC2, by AWS's price list service.
#pragma once

#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "provision/cloud/model.hpp"
#include "provision/providers/aws/ec2.hpp"

namespace fastgpu::provision::aws {

/// Of one machine an hour, by region.
using PricesByRegion = std::map<std::string, Money>;

/// Adds what a page of GetProducts tells of regions; what cannot be read is not told.
void add_prices(const cloud::Answer& page, PricesByRegion& prices);

/// The list has one endpoint and few calls a second for the whole world: a type is asked for once,
/// in all regions, however many of them want its price.
class Prices {
 public:
  explicit Prices(Ec2& ec2) : ec2_(ec2) {}

  /// Absent where it is not told. Throws as Ec2::json does, to everybody who asks for that type.
  std::optional<Money> of(const std::string& type, const std::string& region, const Cancel& cancel);

 private:
  /// `list` is the region that the price list is in.
  PricesByRegion ask(const std::string& type, const std::string& list, const Cancel& cancel);

  Ec2& ec2_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<PricesByRegion>> by_type_;  ///< By list and type.
};

}  // namespace fastgpu::provision::aws
