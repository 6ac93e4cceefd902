// The offers of clouds: types, prices, zones, images and quotas.
#include <map>
#include <memory>
#include <set>

#include "base/parallel.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/quota_pages.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::InstanceType;
using provision::cloud::Offer;
using provision::cloud::RankedOffers;

std::shared_ptr<CloudOptions> describe_looking(Arguments& arguments) {
  auto options = std::make_shared<CloudOptions>();
  describe_place_options(arguments, *options);
  arguments.offer_table();
  return options;
}

std::shared_ptr<CloudOptions> describe_shopping(Arguments& arguments) {
  auto options = describe_looking(arguments);
  describe_machine_options(arguments, *options);
  return options;
}

/// One row of the answers of many regions.
struct Row {
  std::vector<Cell> cells;
  Json item;
  std::string name;
};

/// Asks every cloud in every region at once. Regions that fail are left out, and each reason is
/// reported once. Throws if all fail.
template <class Ask>
std::vector<Row> rows_of(Context& context, const CloudOptions& options, Ask ask) {
  const auto places = places_of(context, options);
  const auto answers = parallel_map(std::span(places), places.size(), ask);
  context.cancel().check();
  std::vector<Row> rows;
  provision::cloud::Heard heard;
  for (std::size_t i = 0; i < places.size(); ++i) {
    provision::cloud::RegionName where(places[i].cloud->name(), places[i].region);
    if (const auto* error = std::get_if<Error>(&answers[i])) {
      heard.failed.emplace_back(std::move(where), *error);
      continue;
    }
    heard.answered.push_back(std::move(where));
    std::ranges::copy(std::get<0>(answers[i]), std::back_inserter(rows));
  }
  if (heard.answered.empty() && !heard.failed.empty()) throw Error(heard.failed.front().second);
  for (const std::string& reason : provision::cloud::reasons(heard))
    context.ui().warn(reason);
  return rows;
}

void show(Context& context, const char* kind, std::vector<Column> columns,
          const std::vector<Row>& rows) {
  View view;
  std::string schema(kind);
  std::ranges::replace(schema, '_', '-');
  view.root = document(schema);
  view.root[kind] = Json::array();
  view.table.columns = std::move(columns);
  view.when_empty = "none found";
  for (const Row& row : rows) {
    view.table.rows.push_back(row.cells);
    view.root[kind].push_back(row.item);
    view.names.push_back(row.name);
  }
  context.ui().show(view);
}

Row row_of(const provision::cloud::OwnImage& own, const CloudPlace& place) {
  const provision::cloud::Image& image = own.image;
  const std::string state(to_string(own.state));
  return {{std::string(place.cloud->name()), place.region, image.id, image.name,
           own.failure.empty() ? state : state + ": " + printable(own.failure, 100),
           own.marks.environment, own.marks.cluster_name, image.created},
          {{"cloud", place.cloud->name()},
           {"region", place.region},
           {"id", image.id},
           {"name", image.name},
           {"architecture", image.architecture},
           {"state", state},
           {"failure", own.failure},
           {"environment", own.marks.environment},
           {"cluster", own.marks.cluster_name},
           {"made_of", own.marks.made_of},
           {"created", image.created}},
          image.id};
}

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
    Json item = to_json(type);
    item["cloud"] = key.first;
    item["zones"] = zones;
    rows.push_back({{key.first, type.name, gpus_text(type), std::to_string(type.cores),
                     number_text(type.memory_gib) + " GiB",
                     type.network_gbit > 0 ? number_text(type.network_gbit) + " Gbit/s" : "?",
                     std::to_string(type.rdma_interfaces), std::to_string(zones.size())},
                    std::move(item),
                    type.name});
  }
  show(context, "instance_types",
       {{"CLOUD"}, {"TYPE"}, {"GPUS"}, {"CORES"}, {"MEMORY"}, {"NETWORK"}, {"RDMA"}, {"ZONES"}},
       rows);
  return 0;
}

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
  show(context, "zones", {{"CLOUD"}, {"REGION"}, {"ZONE"}, {"TYPES ON OFFER"}}, rows);
  return 0;
}

int show_images(Context& context, const CloudOptions& options, const std::string& name) {
  const auto rows = rows_of(context, options, [&](const CloudPlace& place) {
    std::vector<Row> found;
    for (const auto& image :
         place.cloud->images(place.region, name, options.type, context.cancel()))
      found.push_back({{std::string(place.cloud->name()), place.region, image.id, image.name,
                        image.architecture, image.created},
                       {{"cloud", place.cloud->name()},
                        {"region", place.region},
                        {"id", image.id},
                        {"name", image.name},
                        {"architecture", image.architecture},
                        {"created", image.created}},
                       image.id});
    return found;
  });
  show(context, "images",
       {{"CLOUD"},
        {"REGION"},
        {"IMAGE"},
        {"NAME"},
        {"ARCHITECTURE", false, Fit::optional},
        {"CREATED", false, Fit::optional}},
       rows);
  return 0;
}

/// Shows our own images, in any state.
int show_own_images(Context& context, const CloudOptions& options) {
  const auto rows = rows_of(context, options, [&](const CloudPlace& place) {
    std::vector<Row> found;
    for (const auto& own : place.cloud->own_images(place.region, context.cancel()))
      found.push_back(row_of(own, place));
    return found;
  });
  show(context, "images",
       {{"CLOUD"},
        {"REGION"},
        {"IMAGE"},
        {"NAME"},
        {"STATE"},
        {"ENVIRONMENT"},
        {"CLUSTER"},
        {"CREATED"}},
       rows);
  return 0;
}

int show_quotas(Context& context, const CloudOptions& options) {
  const auto rows = rows_of(context, options, [&](const CloudPlace& place) {
    std::vector<Row> found;
    for (const auto& quota : place.cloud->quotas(place.region, context.cancel()))
      found.push_back({{std::string(place.cloud->name()), place.region, quota.name,
                        number_text(quota.limit), quota.used ? number_text(*quota.used) : "?",
                        quota.unit, std::string(provision::cloud::quota_page(place.cloud->name()))},
                       {{"cloud", place.cloud->name()},
                        {"region", place.region},
                        {"name", quota.name},
                        {"limit", quota.limit},
                        {"used", quota.used ? Json(*quota.used) : Json()},
                        {"unit", quota.unit},
                        {"raised_at", provision::cloud::quota_page(place.cloud->name())}},
                       quota.name});
    return found;
  });
  show(context, "quotas",
       {{"CLOUD"},
        {"REGION"},
        {"QUOTA", false, Fit::prose},
        {"LIMIT"},
        {"USED"},
        {"UNIT", false, Fit::optional},
        {"RAISED AT"}},
       rows);
  return 0;
}

}  // namespace

Action describe_get_instance_types(Arguments& arguments) {
  const auto options = describe_shopping(arguments);
  return [options](Context& context) { return show_types(context, *options); };
}

Action describe_get_zones(Arguments& arguments) {
  const auto options = describe_shopping(arguments);
  return [options](Context& context) { return show_zones(context, *options); };
}

Action describe_get_prices(Arguments& arguments) {
  const auto options = describe_shopping(arguments);
  return [options](Context& context) {
    context.ui().show(view_of_offers(offers_for(context, *options)));
    return 0;
  };
}

Action describe_get_images(Arguments& arguments) {
  const auto options = describe_looking(arguments);
  auto name = std::make_shared<std::string>();
  auto mine = std::make_shared<bool>(false);
  arguments.text("NAME", "", "Name or id of an image (the default images)", *name);
  arguments.flag("--mine", "Show only images made by `fastgpu env bake`", *mine);
  arguments.text("--instance-type", "TYPE", "Show only images that fit this instance type",
                 options->type);
  return [options, name, mine](Context& context) {
    if (*mine && !(name->empty() && options->type.empty()))
      throw Error(ErrorKind::usage, "get images: --mine lists all of them");
    return *mine ? show_own_images(context, *options) : show_images(context, *options, *name);
  };
}

Action describe_get_quotas(Arguments& arguments) {
  const auto options = describe_looking(arguments);
  return [options](Context& context) { return show_quotas(context, *options); };
}

}  // namespace fastgpu::cli
