#include <map>
#include <set>
#include <tuple>

#include "cli/commands/cloud/region_rows.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/offer_views.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::Offer;
using provision::cloud::RankedOffers;

int show_zones(Context& context, const CloudOptions& options) {
  const RankedOffers offers = offers_for(context, options);
  std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> zones;
  for (const Offer& offer : offers.usable)
    zones[{offer.cloud, offer.site.region, offer.site.zone}].insert(offer.type.name);
  std::vector<Row> rows;
  for (const auto& [zone, types] : zones) {
    const auto& [cloud, region, name] = zone;
    rows.push_back({{cloud, region, name, std::to_string(types.size())},
                    {{"cloud", cloud}, {"region", region}, {"zone", name}, {"types", types}},
                    name});
  }
  show_rows(context, "zones", {{"CLOUD"}, {"REGION"}, {"ZONE"}, {"TYPES"}}, rows);
  return 0;
}

}  // namespace

Action make_get_zones_command(Arguments& arguments) {
  const auto options = describe_shopping(arguments);
  return [options](Context& context) { return show_zones(context, *options); };
}

}  // namespace fastgpu::cli
