#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

/// Returns the offers of a type in the region, by zone. Throws if there are none.
std::map<std::string, Offer> offers_of(const AlibabaCall& call) {
  const std::string type = call.params.get("InstanceType");
  std::map<std::string, Offer> out;
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
    if (const Offer* offer = std::as_const(call.catalogue()).offer(zone, type)) out[zone] = *offer;
  if (out.empty())
    throw Refusal(
        403, "InvalidInstanceType.ValueNotSupported",
        "The specified InstanceType " + type + " is not sold in " + call.scope.region + ".");
  return out;
}

Json describe_price(const AlibabaCall& call) {
  if (call.params.get("ResourceType", "instance") != "instance")
    throw ProtocolViolation(400, "InvalidResourceType.ValueNotSupported",
                            "Of instances alone, here.");
  const Offer offer = offers_of(call).begin()->second;
  const bool is_spot = call.params.get("SpotStrategy", "NoSpot") != "NoSpot";
  const int amount = call.params.number("Amount", 1);
  double disks = 0;
  for (const Params& each : call.params.structures("DataDisk"))
    disks += read_data_disk(each).size_gb * call.catalogue().disk_price;
  const double price = ((is_spot ? offer.spot_price : offer.price) + disks) * amount;
  return {{"PriceInfo",
           {{"Price",
             {{"OriginalPrice", (offer.price + disks) * amount},
              {"DiscountPrice", (offer.price + disks) * amount - price},
              {"TradePrice", price},
              {"Currency", call.catalogue().currency}}},
            {"Rules", {{"Rule", Json::array()}}}}}};
}

Json describe_spot_prices(const AlibabaCall& call) {
  constexpr double kEarlier = 1.2;  // The price two hours ago was higher by this factor.
  Json items = Json::array();
  for (const auto& [zone, offer] : offers_of(call)) {
    if (offer.spot_price <= 0 || call.params.get("ZoneId", zone) != zone) continue;
    for (const int hours : {2, 0})
      items.push_back({{"InstanceType", call.params.get("InstanceType")},
                       {"ZoneId", zone},
                       {"NetworkType", "vpc"},
                       {"IoOptimized", "optimized"},
                       {"OriginPrice", offer.price},
                       {"SpotPrice", offer.spot_price * (hours == 0 ? 1 : kEarlier)},
                       {"Timestamp", iso_time(call.world.now() - std::chrono::hours(hours))}});
  }
  return {{"Currency", call.catalogue().currency},
          {"NextOffset", 0},
          {"SpotPrices", {{"SpotPriceType", items}}}};
}

constexpr AlibabaAction kPricesActions[] = {
    {"ecs", "DescribePrice",
     "RegionId! ResourceType InstanceType! PriceUnit Period Amount SystemDisk DataDisk ImageId "
     "SpotStrategy SpotDuration InternetChargeType InternetMaxBandwidthOut IoOptimized ZoneId",
     describe_price},
    {"ecs", "DescribeSpotPriceHistory",
     "RegionId! InstanceType! NetworkType! OSType StartTime EndTime ZoneId Offset IoOptimized "
     "SpotDuration",
     describe_spot_prices},
};

}  // namespace

std::span<const AlibabaAction> price_actions() {
  return kPricesActions;
}

}  // namespace fastgpu::cloudsim::alibaba
