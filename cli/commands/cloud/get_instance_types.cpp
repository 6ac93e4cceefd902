#include <map>
#include <set>

#include "cli/commands/cloud/region_rows.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/offer_views.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::InstanceType;
using provision::cloud::Offer;
using provision::cloud::RankedOffers;

int show_types(Context& context, const CloudOptions& options) {
  const RankedOffers offers = offers_for(context, options);
  std::map<std::pair<std::string, std::string>, std::pair<InstanceType, std::set<std::string>>>
      types;
  const auto take = [&](const Offer& offer) {
    auto& [type, zones] = types[{offer.cloud, offer.type.name}];
    type = offer.type;
    zones.insert(offer.site.zone);
  };
  for (const Offer& offer : offers.usable)
    take(offer);
  for (const auto& [offer, against] : offers.unusable)
    take(offer);
  std::vector<Row> rows;
  for (const auto& [key, found] : types) {
    const auto& [type, zones] = found;
    Json item = to_json(key.first, type);
    item["cloud"] = key.first;
    item["zones"] = zones;
    rows.push_back(
        {{key.first, type.name, gpus_text(type), std::to_string(type.cores),
          number_text(type.memory_gib) + " GiB",
          type.network_gbit > 0 ? number_text(type.network_gbit) + " Gbit/s" : "?",
          rdma_text(key.first, type), rdma_speed_text(type), std::to_string(zones.size())},
         std::move(item),
         type.name});
  }
  show_rows(context, "instance_types",
            {{"CLOUD"},
             {"TYPE"},
             {"GPUS"},
             {"CORES"},
             {"MEMORY"},
             {"NETWORK"},
             {"RDMA"},
             {"RDMA SPEED"},
             {"ZONES"}},
            rows);
  return 0;
}

}  // namespace

Action make_get_instance_types_command(Arguments& arguments) {
  const auto options = describe_shopping(arguments);
  return [options](Context& context) { return show_types(context, *options); };
}

}  // namespace fastgpu::cli
