#include "cli/commands/cloud_options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/commands/views.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/cloud_provider.hpp"
#include "provision/cloud/user_data.hpp"
#include "provision/providers.hpp"
#include "ssh/keys.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::Cloud;
using provision::cloud::CloudSpec;
using provision::cloud::Market;
using provision::cloud::Offer;
using provision::cloud::RankedOffers;
using provision::cloud::Stock;

constexpr std::size_t kMostPlaces = 16;

/// An amount of money in the cloud's currency: "20".
std::optional<double> parse_amount(std::string_view digits) {
  double amount = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount);
  if (error != std::errc{} || end != digits.data() + digits.size() || !(amount > 0) || amount > 1e6)
    return std::nullopt;
  return amount;
}

/// "20", "20/h"
double parse_price(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with("/h")) digits.remove_suffix(2);
  if (const auto price = parse_amount(digits)) return *price;
  throw Error(ErrorKind::usage,
              "--max-price '" + text +
                  "' is no price of a node: write 20 or 20/h, in the cloud's currency");
}

provision::cloud::Wish wish_of(const CloudOptions& options, int nodes) {
  provision::cloud::Wish wish{.type = options.type, .zone = options.zone, .nodes = nodes};
  if (!options.gpus.empty()) provision::cloud::parse_gpus(options.gpus, wish);
  if (options.spot) wish.market = Market::spot;
  if (!options.data_disk.empty()) wish.data_disk = provision::parse_data_disk(options.data_disk);
  if (!options.max_price.empty()) wish.max_price = parse_price(options.max_price);
  return wish;
}

std::vector<provision::Mount> mounts_of(const CloudOptions& options) {
  std::vector<provision::Mount> mounts;
  for (const std::string& text : options.mounts)
    mounts.push_back(provision::parse_mount(text));
  return mounts;
}

/// Those named; all that we have credentials for where "any" is.
std::vector<std::string> names_of(const CloudOptions& options, const std::string& provider) {
  std::vector<std::string> names = options.clouds;
  if (names.empty() && !provider.empty()) names = {provider};
  if (!names.empty() && std::ranges::find(names, "any") == names.end()) return names;
  names.clear();
  for (const provision::ProviderInfo& info : provision::provider_table())
    if (info.is_cloud) names.emplace_back(info.name);
  return names;
}

/// Those that the options, or `provider`, name; else all that there are credentials for.
std::vector<Cloud*> clouds_of(Context& context, const CloudOptions& options,
                              const std::string& provider) {
  const bool is_any = std::ranges::find(options.clouds, "any") != options.clouds.end() ||
                      (options.clouds.empty() && provider.empty());
  std::vector<Cloud*> clouds;
  for (const std::string& name : names_of(options, provider)) {
    Cloud& cloud = context.cloud(name);
    if (!is_any || cloud.has_credentials()) clouds.push_back(&cloud);
  }
  if (clouds.empty())
    throw Error(
        ErrorKind::denied,
        "there are no credentials of any cloud: `fastgpu get providers` says what each reads");
  return clouds;
}

/// Every answer, in order. Regions that fail are told of; throws where all do.
RankedOffers asked(Context& context, const std::vector<Cloud*>& clouds, const std::string& region,
                   const provision::cloud::Wish& wish) {
  auto answers = provision::cloud::survey(clouds, region, wish, context.cancel());
  if (answers.offers.empty() && !answers.failures.empty()) throw answers.failures.front().second;
  for (const auto& [where, error] : answers.failures)
    context.ui().warn(where + ": " + error.what());
  return provision::cloud::rank(std::move(answers.offers), wish);
}

/// The plan of a cluster that exists, in full or by halves.
std::optional<CloudPlan> plan_on_record(Context& context, const std::string& name,
                                        const CloudSpec& wanted) {
  const auto cluster = context.store().find_cluster(ClusterName{name});
  if (!cluster || !provision::is_cloud(cluster->provider)) return std::nullopt;
  CloudPlan plan{.provider = cluster->provider, .spec = wanted, .offers = {}};
  plan.spec.places = provision::cloud::parse_cloud_spec(cluster->spec_json).places;
  return plan;
}

/// The keys in OpenSSH's public key files, without their comments. A private one stands for the
/// public one beside it.
std::vector<std::string> public_keys_in(const std::vector<std::string>& files) {
  constexpr std::string_view kKind = "ssh-ed25519 ";
  std::vector<std::string> keys;
  for (const std::string& given : files) {
    std::string file = given;
    auto text = state::read_file(file);
    if (text && text->starts_with("-----BEGIN ")) text = state::read_file(file += ".pub");
    if (!text) throw Error(ErrorKind::not_found, "--ssh-key: there is no file " + file);
    const std::string line = text->substr(0, text->find('\n'));
    const std::string key = line.substr(0, line.find(' ', kKind.size()));
    try {
      if (!line.starts_with(kKind)) throw Error(ErrorKind::usage, "no Ed25519 key");
      ssh::fingerprint(key);
    } catch (const Error&) {
      throw Error(ErrorKind::usage,
                  "--ssh-key: " + file +
                      " holds no public Ed25519 key (\"ssh-ed25519 AAAA...\"): "
                      "name the .pub file of one that ssh-keygen -t ed25519 made");
    }
    keys.push_back(key);
  }
  return keys;
}

std::string stock_text(Stock stock) {
  switch (stock) {
    case Stock::none:
      return "none";
    case Stock::low:
      return "low";
    case Stock::enough:
      return "enough";
    case Stock::unknown:
      return "?";
  }
  return "?";
}

Json offer_json(const Offer& offer, const std::string& against) {
  Json object = to_json(offer.type);
  object["cloud"] = offer.cloud;
  object["region"] = offer.site.region;
  object["zone"] = offer.site.zone;
  object["market"] = offer.market == Market::spot ? "spot" : "on-demand";
  object["stock"] = stock_text(offer.stock);
  object["price_per_hour"] = offer.price_per_hour ? Json(offer.price_per_hour->amount) : Json();
  object["currency"] = offer.price_per_hour ? Json(offer.price_per_hour->currency) : Json();
  object["quota"] = offer.quota ? Json(*offer.quota) : Json();
  if (!against.empty()) object["unusable"] = against;
  return object;
}

void add_row(View& view, const Offer& offer, const std::string& against) {
  view.root["offers"].push_back(offer_json(offer, against));
  if (against.empty()) view.names.push_back(offer.site.zone + "/" + offer.type.name);
  view.table.rows.push_back({offer.cloud, offer.site.zone, offer.type.name, gpus_text(offer.type),
                             offer.type.rdma_interfaces > 0 ? "yes" : "-",
                             price_text(offer.price_per_hour, 1), stock_text(offer.stock),
                             offer.quota ? std::to_string(*offer.quota) : "?",
                             against.empty() ? "-" : against});
}

}  // namespace

std::string gpus_text(const provision::cloud::InstanceType& type) {
  if (type.gpus == 0) return "-";
  return std::to_string(type.gpus) + "x" + type.gpu +
         (type.gpu_memory_gib > 0 ? "-" + std::to_string(type.gpu_memory_gib) + "G" : "");
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

Json to_json(const provision::cloud::InstanceType& type) {
  return {{"type", type.name},
          {"gpu", type.gpu},
          {"gpus", type.gpus},
          {"gpu_memory_gib", type.gpu_memory_gib},
          {"cores", type.cores},
          {"memory_gib", type.memory_gib},
          {"network_gbit", type.network_gbit},
          {"rdma_interfaces", type.rdma_interfaces},
          {"architecture", type.architecture}};
}

bool wants_a_cloud(const CloudOptions& options) {
  return !options.clouds.empty() || !options.gpus.empty() || !options.type.empty();
}

std::string given_option(const CloudOptions& options) {
  const std::pair<bool, const char*> given[] = {
      {!options.clouds.empty(), "--cloud"},
      {!options.gpus.empty(), "--gpus"},
      {!options.type.empty(), "--instance-type"},
      {!options.region.empty(), "--region"},
      {!options.zone.empty(), "--zone"},
      {!options.image.empty(), "--image"},
      {!options.vpc.empty(), "--vpc"},
      {!options.max_price.empty(), "--max-price"},
      {!options.ssh_from.empty(), "--ssh-from"},
      {!options.ssh_keys.empty(), "--ssh-key"},
      {!options.key_pairs.empty(), "--key-pair"},
      {options.disk.has_value(), "--disk"},
      {!options.data_disk.empty(), "--data-disk"},
      {!options.mounts.empty(), "--mount"},
      {options.min_nodes.has_value(), "--min-nodes"},
      {options.hold.has_value(), "--hold"},
      {!options.hold_cost.empty(), "--hold-cost"},
      {!options.public_address.empty(), "--public-address"},
      {options.spot, "--spot"},
      {options.rdma, "--rdma"}};
  for (const auto& [is_given, name] : given)
    if (is_given) return name;
  return {};
}

CloudOptions over_file(CloudOptions options, const config::CloudFields& file) {
  const auto fall_back = [](auto& option, const auto& field) {
    if (option == std::remove_cvref_t<decltype(option)>{}) option = field;
  };
  fall_back(options.clouds, file.clouds);
  fall_back(options.gpus, file.gpus);
  fall_back(options.type, file.instance_type);
  fall_back(options.region, file.region);
  fall_back(options.zone, file.zone);
  fall_back(options.image, file.image);
  fall_back(options.vpc, file.vpc);
  fall_back(options.max_price, file.max_price);
  fall_back(options.hold_cost, file.hold_cost);
  fall_back(options.public_address, file.public_address);
  fall_back(options.ssh_from, file.ssh_from);
  fall_back(options.disk, file.disk);
  fall_back(options.data_disk, file.data_disk);
  fall_back(options.mounts, file.mounts);
  fall_back(options.min_nodes, file.min_nodes);
  fall_back(options.hold, file.hold);
  fall_back(options.spot, file.spot);
  fall_back(options.rdma, file.rdma);
  return options;
}

provision::Holding holding_of(const CloudOptions& options) {
  provision::Holding holding{.least = options.min_nodes.value_or(0)};
  if (options.hold)
    holding.longest = std::chrono::duration_cast<std::chrono::seconds>(*options.hold);
  if (options.hold_cost.empty()) return holding;
  holding.most_cost = parse_amount(options.hold_cost);
  if (!holding.most_cost)
    throw Error(ErrorKind::usage, "--hold-cost '" + options.hold_cost +
                                      "' is no amount of money: write 5, in the cloud's currency");
  return holding;
}

void describe_place_options(Arguments& arguments, CloudOptions& options) {
  Argument& cloud = arguments.list("--cloud", "NAME",
                                   "A cloud to look in, or any: all that there are credentials for",
                                   options.clouds);
  cloud.values = Values::choice;
  for (const provision::ProviderInfo& info : provision::provider_table())
    if (info.is_cloud) cloud.choices.emplace_back(info.name);
  cloud.choices.emplace_back("any");
  arguments.text("--region", "REGION", "Look in this region alone, or in all of them (all)",
                 options.region);
}

void describe_machine_options(Arguments& arguments, CloudOptions& options) {
  arguments.text("--gpus", "GPU[:N]", "GPUs a node, such as A100:8 or A100-80GB:8", options.gpus);
  arguments.text("--instance-type", "TYPE", "Exactly this type of machine", options.type);
  arguments.text("--zone", "ZONE", "Look in this zone alone", options.zone);
  arguments.flag("--spot", "Machines that the cloud may take back, for less", options.spot);
  arguments.text("--max-price", "PRICE", "The most that a node may cost an hour, such as 20/h",
                 options.max_price);
}

void describe_cloud_options(Arguments& arguments, CloudOptions& options) {
  describe_place_options(arguments, options);
  describe_machine_options(arguments, options);
  arguments.text("--image", "IMAGE", "An image by id or name (the newest that suits)",
                 options.image);
  arguments.text("--vpc", "VPC", "A network of yours to stand in, by name or id", options.vpc);
  arguments.disk("--disk", "Size of the system disk, such as 200 or 1TB (the image's)",
                 options.disk, 32'768);
  arguments.text("--data-disk", "GIB[:TYPE]",
                 "A disk more for each node, at /data, such as 500:gp3 or 10TB", options.data_disk);
  arguments.list("--mount", "ADDRESS:/EXPORT[=/PATH]",
                 "An NFS export for all nodes, at /fastgpu or PATH", options.mounts);
  arguments.list("--ssh-from", "CIDR", "Who may log in (this machine, as it is seen from outside)",
                 options.ssh_from);
  arguments
      .list("--ssh-key", "FILE.pub", "A public key of yours that opens the nodes as well",
            options.ssh_keys)
      .values = Values::path;
  arguments.list("--key-pair", "NAME", "A key pair of yours in the cloud that opens them as well",
                 options.key_pairs);
  Argument& address = arguments.text("--public-address", "NODES",
                                     "Which nodes have a public address", options.public_address);
  address.values = Values::choice;
  address.choices = {"all", "head", "none"};
  arguments.count("--min-nodes", "N", "Begin with so many where no place has room for all",
                  options.min_nodes, 1, provision::kMostNodes);
  arguments.duration("--hold", "Keep what was got for so long while the missing nodes are sought",
                     options.hold);
  arguments.text("--hold-cost", "AMOUNT", "The most that the kept nodes may cost meanwhile",
                 options.hold_cost);
  arguments.flag("--rdma", "Close together, with the fastest network that the type has",
                 options.rdma);
}

std::vector<CloudPlace> places_of(Context& context, const CloudOptions& options) {
  std::vector<CloudPlace> places;
  for (Cloud* cloud : clouds_of(context, options, "")) {
    for (std::string& region :
         provision::cloud::regions_to_ask(*cloud, options.region, context.cancel()))
      places.push_back({cloud, std::move(region)});
  }
  return places;
}

RankedOffers offers_for(Context& context, const CloudOptions& options) {
  provision::cloud::Wish wish = wish_of(options, 1);
  if (wish.gpu.empty() && wish.type.empty()) wish.gpus = 1;
  return asked(context, clouds_of(context, options, ""), options.region, wish);
}

/// Who wishes for RDMA is told which types have it.
std::string types_to_take(std::span<Cloud* const> clouds, const provision::cloud::Wish& wish) {
  if (!wish.rdma) return {};
  std::vector<std::string_view> names;
  for (const Cloud* cloud : clouds)
    names.push_back(cloud->name());
  std::string types;
  for (const std::string& type : provision::cloud::types_with_rdma(names, wish))
    types += (types.empty() ? "" : ", ") + type;
  return types.empty() ? "; fastgpu knows no type with RDMA there: leave --rdma out"
                       : "; those with RDMA are " + types + ", or leave --rdma out";
}

CloudPlan plan_in_clouds(Context& context, const CloudOptions& options, const std::string& provider,
                         const std::string& cluster, int nodes) {
  CloudSpec spec{.wish = wish_of(options, std::min(nodes, options.min_nodes.value_or(nodes))),
                 .region = options.region,
                 .image = options.image,
                 .vpc = options.vpc,
                 .disk_gib = options.disk.value_or(0),
                 .ssh_from = options.ssh_from,
                 .ssh_keys = public_keys_in(options.ssh_keys),
                 .key_pairs = options.key_pairs,
                 .rdma = options.rdma,
                 .mounts = mounts_of(options)};
  if (!options.public_address.empty())
    spec.public_address = provision::cloud::parse_public_address(options.public_address);
  check_storage(provision::cloud::storage_of(spec, provider));
  if (spec.wish.gpu.empty() && spec.wish.type.empty())
    throw Error(ErrorKind::usage, "what machines? --gpus A100:8, or --instance-type TYPE");
  if (const auto recorded = plan_on_record(context, cluster, spec)) return *recorded;
  CloudPlan plan{.provider = {}, .spec = std::move(spec), .offers = {}};
  const std::vector<Cloud*> clouds = clouds_of(context, options, provider);
  for (const Cloud* cloud : clouds)
    provision::cloud::check_first_boot(plan.spec.ssh_keys, plan.spec.key_pairs.size(),
                                       plan.spec.wish.data_disk.gib, cloud->limits().user_data,
                                       cloud->name());
  provision::cloud::Wish wish = plan.spec.wish;
  wish.rdma = plan.spec.rdma;
  plan.offers = asked(context, clouds, options.region, wish);
  if (plan.offers.usable.empty())
    throw Error(ErrorKind::capacity, "there is no place for " + std::to_string(nodes) +
                                         " such nodes: " + provision::cloud::why_none(plan.offers) +
                                         types_to_take(clouds, wish));
  return plan_elsewhere(plan, {}).value();
}

std::optional<CloudPlan> plan_elsewhere(const CloudPlan& plan,
                                        const std::set<std::string>& refused) {
  CloudPlan other{.provider = {}, .spec = plan.spec, .offers = plan.offers};
  other.spec.places.clear();
  for (const Offer& offer : plan.offers.usable) {
    if (refused.contains(offer.cloud)) continue;
    if (other.provider.empty()) other.provider = offer.cloud;
    if (offer.cloud == other.provider && other.spec.places.size() < kMostPlaces)
      other.spec.places.push_back(
          {offer.site, offer.type.name, offer.price_per_hour, offer.type.rdma_interfaces});
  }
  if (other.provider.empty()) return std::nullopt;
  return other;
}

View view_of_offers(const RankedOffers& offers) {
  View view;
  view.root = document("offers");
  view.root["offers"] = Json::array();
  view.table.columns = {{"CLOUD"}, {"ZONE"},  {"TYPE"},  {"GPUS"}, {"RDMA"},
                        {"PRICE"}, {"STOCK"}, {"QUOTA"}, {"BUT"}};
  for (const Offer& offer : offers.usable)
    add_row(view, offer, "");
  for (const auto& [offer, against] : offers.unusable)
    add_row(view, offer, against);
  view.when_empty = "no cloud has such machines";
  return view;
}

std::string price_text(const std::optional<provision::cloud::Money>& price, int machines) {
  if (!price) return "price unknown";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %s/h", price->amount * machines, price->currency.c_str());
  return text;
}

}  // namespace fastgpu::cli
