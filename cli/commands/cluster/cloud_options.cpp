#include "cli/commands/cluster/cloud_options.hpp"

#include <algorithm>
#include <cmath>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/files.hpp"
#include "base/join.hpp"
#include "base/utf8.hpp"
#include "cli/commands/cluster/money_options.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "cli/program/checked_flag.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/cloud_provider.hpp"
#include "provision/cloud/known_names.hpp"
#include "provision/cloud/named_parts.hpp"
#include "provision/cloud/user_data.hpp"
#include "provision/providers.hpp"
#include "ssh/keys.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::Cloud;
using provision::cloud::CloudSpec;
using provision::cloud::ExchangeRates;
using provision::cloud::Market;
using provision::cloud::Offer;
using provision::cloud::RankedOffers;

constexpr std::size_t kMostPlaces = 16;

/// Checks the words that are sent to a cloud unchanged. Throws ErrorKind::usage for a word that
/// cannot be a name there.
void check_words(const CloudOptions& options) {
  using provision::cloud::check_identifier;
  using provision::cloud::check_title;
  for (const auto& [flag, word] : {std::pair("--region", &options.region),
                                   {"--zone", &options.zone},
                                   {"--instance-type", &options.type},
                                   {"--reservation", &options.reservation}})
    if (!word->empty()) check_identifier(flag, *word);
  for (const auto& [flag, word] : {std::pair("--image", &options.image), {"--vpc", &options.vpc}})
    if (!word->empty()) check_title(flag, *word);
  for (const std::string& name : options.key_pairs)
    check_title("--key-pair", name);
}

provision::cloud::MachineRequest request_of(const CloudOptions& options, const ExchangeRates& rates,
                                            int nodes) {
  check_words(options);
  provision::cloud::MachineRequest request{
      .type = options.type, .zone = options.zone, .nodes = nodes};
  if (!options.gpus.empty()) provision::cloud::parse_gpus(options.gpus, request);
  if (options.spot) request.market = Market::spot;
  if (options.spot && !options.reservation.empty())
    throw Error(ErrorKind::usage, "--reservation and --spot exclude each other: leave one out");
  request.reservation = options.reservation;
  if (!options.data_disk.empty()) request.data_disk = provision::parse_data_disk(options.data_disk);
  if (!options.max_price.empty())
    request.max_price = price_in("--max-price", options.max_price, rates);
  return request;
}

std::vector<provision::Mount> mounts_of(const CloudOptions& options) {
  std::vector<provision::Mount> mounts;
  for (const std::string& text : options.mounts)
    mounts.push_back(provision::parse_mount(text));
  return mounts;
}

/// Returns the names of the clouds to search: the given ones, or all clouds if "any" is among them
/// or none is given.
std::vector<std::string> names_of(const CloudOptions& options, const std::string& provider) {
  std::vector<std::string> names = options.clouds;
  if (names.empty() && !provider.empty()) names = {provider};
  if (!names.empty() && !contains(names, "any")) return names;
  names.clear();
  for (const provision::ProviderInfo& info : provision::provider_table())
    if (info.is_cloud) names.emplace_back(info.name);
  return names;
}

/// Returns the clouds to search: the given ones, or all that have credentials. Throws
/// ErrorKind::denied if no cloud has any.
std::vector<Cloud*> clouds_of(Context& context, const CloudOptions& options,
                              const std::string& provider) {
  const bool is_any =
      contains(options.clouds, "any") || (options.clouds.empty() && provider.empty());
  std::vector<Cloud*> clouds;
  for (const std::string& name : names_of(options, provider)) {
    Cloud& cloud = context.cloud(name);
    if (!is_any || cloud.has_credentials()) clouds.push_back(&cloud);
  }
  if (clouds.empty())
    throw Error(
        ErrorKind::denied,
        "no cloud credentials found: `fastgpu get providers` shows where each cloud reads them");
  return clouds;
}

/// Returns the clouds' offers, ranked. Warns of regions that fail. Throws if all regions fail, and
/// throws not_found for a zone or a type that no region has.
RankedOffers asked(Context& context, const std::vector<Cloud*>& clouds, const std::string& region,
                   const provision::cloud::MachineRequest& request, const ExchangeRates& rates) {
  const auto asked = provision::cloud::clouds_with_region(clouds, region, context.cancel());
  auto answers = provision::cloud::survey(asked, region, request, context.cancel());
  const auto& heard = answers.heard;
  if (heard.answered.empty() && !heard.failed.empty()) throw Error(heard.failed.front().second);
  for (const std::string& reason : provision::cloud::reasons(heard))
    context.ui().warn(reason);
  if (answers.offers.empty())
    provision::cloud::check_names(asked, region, request, context.cancel());
  provision::cloud::check_gpus_of_type(answers.offers, request);
  return provision::cloud::rank(std::move(answers.offers), request, rates);
}

/// Returns the plan of a recorded cluster, which may be incomplete; absent if the store has no such
/// cluster in a cloud.
std::optional<CloudPlan> plan_on_record(Context& context, const std::string& name,
                                        const CloudSpec& wanted) {
  const auto cluster = context.store().find_cluster(ClusterName{name});
  if (!cluster || !provision::is_cloud(cluster->provider)) return std::nullopt;
  CloudPlan plan{.provider = cluster->provider, .spec = wanted, .offers = {}};
  const CloudSpec& there = cluster->cloud();
  plan.spec.places = there.places;
  if (plan.spec.ssh_from.empty()) plan.spec.ssh_from = there.ssh_from;
  return plan;
}

/// Returns the keys in OpenSSH's public key files, without their comments. For a private key file,
/// reads the public key file beside it.
std::vector<std::string> public_keys_in(const std::vector<std::string>& files) {
  constexpr std::string_view kKind = "ssh-ed25519 ";
  std::vector<std::string> keys;
  for (const std::string& given : files) {
    std::string file = given;
    auto text = read_file(file);
    if (text && text->starts_with("-----BEGIN ")) text = read_file(file += ".pub");
    if (!text) throw Error(ErrorKind::not_found, "--ssh-key: there is no file " + file);
    const std::string whole(without_byte_order_mark(*text));
    const std::string line = whole.substr(0, whole.find('\n'));
    const std::string key = line.substr(0, line.find(' ', kKind.size()));
    try {
      if (!line.starts_with(kKind)) throw Error(ErrorKind::usage, "no Ed25519 key");
      ssh::fingerprint(key);
    } catch (const Error&) {
      throw Error(ErrorKind::usage, "--ssh-key: " + file +
                                        " has no public Ed25519 key (\"ssh-ed25519 AAAA...\"): "
                                        "name a .pub file made by ssh-keygen -t ed25519");
    }
    keys.push_back(key);
  }
  return keys;
}

}  // namespace

bool wants_a_cloud(const CloudOptions& options) {
  return !options.clouds.empty() || !options.gpus.empty() || !options.type.empty() ||
         !options.reservation.empty();
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
      {!options.reservation.empty(), "--reservation"},
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

CloudOptions over_file(CloudOptions options, const provision::CloudFields& file) {
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

provision::GangPolicy gang_policy_of(const CloudOptions& options, const ExchangeRates& rates) {
  provision::GangPolicy holding{.least = options.min_nodes.value_or(0)};
  if (options.hold)
    holding.longest = std::chrono::duration_cast<std::chrono::seconds>(*options.hold);
  if (options.hold_cost.empty()) return holding;
  holding.most_cost = money_in("--hold-cost", options.hold_cost, rates);
  return holding;
}

std::vector<IpRange> parse_ssh_from(const std::vector<std::string>& texts) {
  std::vector<IpRange> ranges;
  for (const std::string& text : texts) {
    try {
      const IpRange range = IpRange::parse(text);
      if (range.is_v6())
        throw Error(ErrorKind::usage, "'" + printable(text) +
                                          "' is an IPv6 range, but the nodes have only IPv4 "
                                          "addresses: name the IPv4 range that you log in from");
      if (!contains(ranges, range)) ranges.push_back(range);
    } catch (const Error& e) {
      throw e.during("--ssh-from");
    }
  }
  return ranges;
}

void warn_of_world(Ui& ui, const std::vector<IpRange>& ranges) {
  for (const IpRange& range : ranges)
    if (range.is_world())
      ui.warn("--ssh-from " + range.text() + " lets " +
              (range.prefix() == 0 ? "the whole world" : "a large part of the world") +
              " try to log in on port 22: name the range that you log in from");
}

void describe_place_options(Arguments& arguments, CloudOptions& options) {
  Argument& cloud =
      arguments.list("--cloud", "NAME", "Search this cloud; any searches all that have credentials",
                     options.clouds);
  cloud.values = Values::choice;
  for (const provision::ProviderInfo& info : provision::provider_table())
    if (info.is_cloud) cloud.choices.emplace_back(info.name);
  cloud.choices.emplace_back("any");
  arguments
      .text("--region", "REGION", "Search this region only; all searches every region (all)",
            options.region)
      .values = Values::region;
}

void describe_machine_options(Arguments& arguments, CloudOptions& options) {
  Argument& gpus =
      arguments.text("--gpus", "GPU[:N]", "GPUs per node [A100:8, A100-80GB:8]", options.gpus);
  gpus.values = Values::gpus;
  checked(gpus, [](const std::string& text) {
    provision::cloud::MachineRequest request;
    provision::cloud::parse_gpus(text, request);
  });
  arguments.text("--instance-type", "TYPE", "Instance type", options.type);
  arguments.text("--zone", "ZONE", "Search this zone only", options.zone);
  arguments.flag("--spot", "Use spot instances: cheaper, but the cloud may reclaim them",
                 options.spot);
  arguments.text("--max-price", "PRICE", "Maximum price of a node per hour [20USD]",
                 options.max_price);
  describe_exchange_rates(arguments, options.exchange_rates);
}

void describe_cloud_options(Arguments& arguments, CloudOptions& options) {
  arguments.group("Machine");
  describe_place_options(arguments, options);
  describe_machine_options(arguments, options);
  arguments.text("--image", "IMAGE", "Image by id or name (the newest that fits)", options.image);
  arguments.text("--reservation", "ID",
                 "Use this capacity reservation or capacity block (aws, alibaba)",
                 options.reservation);
  arguments.flag("--rdma",
                 "Use RDMA or the fastest network of the type, and place nodes close together",
                 options.rdma);
  arguments.group("Capacity");
  arguments.count("--min-nodes", "N", "Start with at least N nodes if no zone has capacity for all",
                  options.min_nodes, 1, provision::kMostNodes);
  arguments.duration("--hold",
                     "Keep (and pay for) partial capacity this long while looking for the rest",
                     options.hold);
  arguments.text("--hold-cost", "AMOUNT",
                 "Stop holding partial capacity once it has cost AMOUNT [5USD]", options.hold_cost);
  arguments.group("Storage");
  arguments.disk("--disk", "Size of the system disk in GiB [200, 1TB] (that of the image)",
                 options.disk, 32'768);
  checked(arguments.text("--data-disk", "GIB[:TYPE]",
                         "Attach a data disk to each node, mounted at /data [500:gp3, 10TB]",
                         options.data_disk),
          provision::parse_data_disk);
  checked(arguments.list("--mount", "ADDRESS:/EXPORT[=/PATH]",
                         "Mount an NFS export on all nodes, at PATH (/fastgpu)", options.mounts),
          provision::parse_mount);
  arguments.group("Network and login");
  arguments.text("--vpc", "VPC", "Use an existing VPC, by name or id", options.vpc);
  Argument& address = arguments.text("--public-address", "NODES", "Nodes with a public address",
                                     options.public_address);
  address.values = Values::choice;
  address.choices = {"all", "head", "none"};
  arguments.list("--ssh-from", "CIDR",
                 "Allow SSH from this range (the public address of this machine)",
                 options.ssh_from);
  arguments
      .list("--ssh-key", "FILE.pub", "Let this public key log in to the nodes, too",
            options.ssh_keys)
      .values = Values::path;
  arguments.list("--key-pair", "NAME", "Let this key pair of the cloud log in to the nodes, too",
                 options.key_pairs);
  arguments.group("");
}

std::vector<CloudPlace> places_of(Context& context, const CloudOptions& options) {
  check_words(options);
  std::vector<CloudPlace> places;
  const auto clouds = clouds_of(context, options, "");
  for (Cloud* cloud :
       provision::cloud::clouds_with_region(clouds, options.region, context.cancel())) {
    for (std::string& region :
         provision::cloud::regions_to_ask(*cloud, options.region, context.cancel()))
      places.push_back({cloud, std::move(region)});
  }
  return places;
}

RankedOffers offers_for(Context& context, const CloudOptions& options) {
  const ExchangeRates rates = rates_for(context, options.exchange_rates);
  provision::cloud::MachineRequest request = request_of(options, rates, 1);
  if (request.gpu.empty() && request.type.empty()) request.gpus = 1;
  return asked(context, clouds_of(context, options, ""), options.region, request, rates);
}

/// Returns the end of an error message that lists the types with RDMA; "" if the user did not ask
/// for RDMA.
std::string types_to_take(std::span<Cloud* const> clouds,
                          const provision::cloud::MachineRequest& request) {
  if (!request.rdma) return {};
  std::vector<std::string_view> names;
  for (const Cloud* cloud : clouds)
    names.push_back(cloud->name());
  const std::string types = joined(provision::cloud::types_with_rdma(names, request));
  return types.empty() ? "; fastgpu knows of no type with RDMA there: omit --rdma"
                       : "; types with RDMA: " + types + "; or omit --rdma";
}

CloudPlan plan_in_clouds(Context& context, const CloudOptions& options, const std::string& provider,
                         const std::string& cluster, int nodes) {
  const ExchangeRates rates = rates_for(context, options.exchange_rates);
  CloudSpec spec{
      .request = request_of(options, rates, std::min(nodes, options.min_nodes.value_or(nodes))),
      .region = options.region,
      .image = options.image,
      .vpc = options.vpc,
      .disk_gib = options.disk.value_or(0),
      .ssh_from = parse_ssh_from(options.ssh_from),
      .ssh_keys = public_keys_in(options.ssh_keys),
      .key_pairs = options.key_pairs,
      .rdma = options.rdma,
      .mounts = mounts_of(options)};
  if (!options.public_address.empty())
    spec.public_address = provision::cloud::parse_public_address(options.public_address);
  check_storage(provision::cloud::storage_of(spec, provider));
  if (spec.request.gpu.empty() && spec.request.type.empty() && spec.request.reservation.empty())
    throw Error(ErrorKind::usage,
                "no machine type given: use --gpus A100:8 or --instance-type TYPE");
  if (const auto recorded = plan_on_record(context, cluster, spec)) return *recorded;
  CloudPlan plan{.provider = {}, .spec = std::move(spec), .offers = {}, .rates = rates};
  const std::vector<Cloud*> clouds = clouds_of(context, options, provider);
  for (const Cloud* cloud : clouds)
    provision::cloud::check_first_boot(plan.spec.ssh_keys, plan.spec.key_pairs.size(),
                                       plan.spec.request.data_disk.gib, cloud->limits().user_data,
                                       cloud->name());
  provision::cloud::MachineRequest request = plan.spec.request;
  request.rdma = plan.spec.rdma;
  plan.offers = provision::cloud::without_dear(
      provision::cloud::with_named_parts(asked(context, clouds, options.region, request, rates),
                                         clouds, plan.spec, context.cancel()),
      request);
  if (plan.offers.usable.empty())
    throw Error(ErrorKind::capacity, "no zone can provide " + counted(nodes, "such node") + ": " +
                                         provision::cloud::why_none(plan.offers, request) +
                                         types_to_take(clouds, request));
  return plan_elsewhere(plan, {}).value();
}

/// Returns true if the offer has the currency of the spec's first place. All places must have one
/// currency, in which guards and costs are counted.
bool has_currency_of(const CloudSpec& spec, const Offer& offer) {
  if (spec.places.empty() || !spec.places.front().price_per_hour || !offer.price_per_hour)
    return true;
  return spec.places.front().price_per_hour->currency == offer.price_per_hour->currency;
}

/// Returns the price limit in a place's currency. A converted limit has three decimals, as clouds
/// require, and is rounded down.
Money bid(const Money& most, Currency currency, const ExchangeRates& rates) {
  constexpr double kSteps = 1000;
  Money limit = rates.in(currency, most);
  if (currency != most.currency) limit.amount = std::floor(limit.amount * kSteps) / kSteps;
  return limit;
}

provision::cloud::Place place_of(const Offer& offer,
                                 const provision::cloud::MachineRequest& request,
                                 const ExchangeRates& rates) {
  provision::cloud::Place place{.site = offer.site,
                                .type = offer.type.name,
                                .price_per_hour = offer.price_per_hour,
                                .rdma_interfaces = offer.type.rdma_interfaces,
                                .rdma_cards = offer.type.rdma_cards,
                                .gpus = gpus_text(offer.type)};
  if (request.max_price && offer.price_per_hour)
    place.max_price = bid(*request.max_price, offer.price_per_hour->currency, rates);
  return place;
}

std::optional<CloudPlan> plan_elsewhere(const CloudPlan& plan,
                                        const std::set<std::string>& refused) {
  CloudPlan other = plan;
  other.provider.clear();
  other.spec.places.clear();
  for (const Offer& offer : plan.offers.usable) {
    if (refused.contains(offer.cloud)) continue;
    if (other.provider.empty()) other.provider = offer.cloud;
    const bool is_fitting = offer.cloud == other.provider && has_currency_of(other.spec, offer);
    if (is_fitting && other.spec.places.size() < kMostPlaces)
      other.spec.places.push_back(place_of(offer, plan.spec.request, plan.rates));
  }
  if (other.provider.empty()) return std::nullopt;
  return other;
}

}  // namespace fastgpu::cli
