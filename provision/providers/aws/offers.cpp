// The offers of EC2 in a region: types, zones, prices and quota, all requested at once.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "base/time_text.hpp"
#include "provision/cloud/answer.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/where_told.hpp"
#include "provision/providers/aws/aws_cloud.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::InstanceType;
using cloud::MachineRequest;
using cloud::Market;
using cloud::Offer;
using cloud::Quota;

/// The code of a quota. It counts virtual cores, by the first letter of the type: P has the large
/// GPUs, G the others.
struct QuotaCode {
  char family;
  Market market;
  const char* code;
  const char* name;
};

constexpr QuotaCode kQuotas[] = {
    {'p', Market::on_demand, "L-417A185B", "Running On-Demand P instances"},
    {'g', Market::on_demand, "L-DB2E81BA", "Running On-Demand G and VT instances"},
    {'p', Market::spot, "L-7212CCBC", "All P Spot Instance Requests"},
    {'g', Market::spot, "L-3819A6DF", "All G and VT Spot Instance Requests"},
};

/// The virtual cores by family and market, as quotas count them.
using Cores = std::map<std::pair<char, Market>, double>;

int cores_of(const pugi::xml_node& instance) {
  const pugi::xml_node options = instance.child("cpuOptions");
  return options.child("coreCount").text().as_int() *
         options.child("threadsPerCore").text().as_int();
}

/// Returns the cores of all machines that the account has in the region.
Cores cores_used(Ec2& ec2, const std::string& region, const Cancel& cancel) {
  Ec2Call call{.region = region,
               .action = "DescribeInstances",
               .doing = "counting running machines in " + region};
  add_filter(call.parameters, 1, "instance-state-name", {"pending", "running"});
  add_filter(call.parameters, 2, "instance-type", {"p*", "g*", "vt*"});
  Cores used;
  ec2.pages(
      call,
      [&](const pugi::xml_node& root) {
        for (const pugi::xml_node& reservation : items(root, "reservationSet"))
          for (const pugi::xml_node& instance : items(reservation, "instancesSet")) {
            const std::string_view lifecycle = instance.child_value("instanceLifecycle");
            const char family = *instance.child_value("instanceType") == 'p' ? 'p' : 'g';
            used[{family, lifecycle == "spot" ? Market::spot : Market::on_demand}] +=
                cores_of(instance);
          }
      },
      cancel);
  return used;
}

/// The facts about a region's types, each from a call of its own.
struct Survey {
  std::map<std::string, InstanceType> types;
  std::map<std::string, std::set<std::string>> zones;         ///< The zones by type.
  std::map<std::pair<std::string, std::string>, Money> spot;  ///< The prices by type and zone.
  std::map<std::string, Money> on_demand;                     ///< The prices by type.
  std::map<char, double> cores_allowed;                       ///< The quotas by family.
  Cores cores_used;
};

/// A network card of a machine.
struct Card {
  int number = 0;
  double gbit = 0;
};

/// Returns the cards with the fabric adapter, if a machine has more cards than adapters: the
/// fastest ones. Empty if the first cards have it.
std::vector<int> rdma_cards(std::vector<Card> cards, int adapters) {
  constexpr std::size_t kMostCards = 128;
  const bool is_odd = adapters > 0 && cards.size() > static_cast<std::size_t>(adapters);
  if (!is_odd || cards.size() > kMostCards) return {};
  std::ranges::stable_sort(cards, std::greater(), &Card::gbit);
  cards.resize(static_cast<std::size_t>(adapters));
  std::vector<int> numbers;
  for (const Card& card : cards)
    numbers.push_back(card.number);
  std::ranges::sort(numbers);
  const bool are_first = numbers.front() == 0 && numbers.back() == adapters - 1;
  return are_first ? std::vector<int>() : numbers;
}

/// Returns the rate of the fastest cards, of which each adapter has one; 0 if it is unknown.
double rdma_gbit(std::vector<Card> cards, int adapters) {
  std::ranges::sort(cards, std::greater(), &Card::gbit);
  double sum = 0;
  for (std::size_t i = 0; i < cards.size() && static_cast<int>(i) < adapters; ++i)
    sum += cards[i].gbit;
  return sum;
}

class Surveyor {
 public:
  Surveyor(Ec2& ec2, Prices& prices, std::string region, const MachineRequest& request,
           const Cancel& cancel)
      : ec2_(ec2), prices_(prices), region_(std::move(region)), wish_(request), cancel_(cancel) {}

  /// Asks the API for the types, and then for the facts about those that suit.
  Survey look() {
    ask_types();
    for (const auto& [name, type] : survey_.types)
      names_.push_back(name);
    if (names_.empty()) return std::move(survey_);
    cloud::Tasks questions = {[&] { ask_zones(); }};
    if (wish_.market == Market::spot) questions.emplace_back([&] { ask_spot_prices(); });
    for (const std::string& name : names_)
      if (wish_.market == Market::on_demand)
        questions.emplace_back([this, name] { cloud::where_told([&] { ask_price(name); }); });
    for (const QuotaCode& quota : kQuotas)
      if (quota.market == wish_.market && is_wanted(quota.family))
        questions.emplace_back([this, quota] { cloud::where_told([&] { ask_quota(quota); }); });
    questions.emplace_back([this] {
      cloud::where_told([&] { survey_.cores_used = cores_used(ec2_, region_, cancel_); });
    });
    cloud::at_once(questions);
    return std::move(survey_);
  }

 private:
  bool is_wanted(char family) const {
    return std::ranges::any_of(names_, [&](const auto& name) { return name.starts_with(family); });
  }

  void each(Ec2Call call, const char* set, const std::function<void(const pugi::xml_node&)>& take) {
    call.region = region_;
    call.doing += " in " + region_;
    ec2_.pages(
        call,
        [&](const pugi::xml_node& root) {
          for (const pugi::xml_node& item : items(root, set))
            take(item);
        },
        cancel_);
  }

  void ask_types() {
    Ec2Call call{.action = "DescribeInstanceTypes", .doing = "asking for instance types"};
    // The names of all types with GPUs begin so.
    const std::vector<std::string> with_gpus = {"p*", "g*"};
    add_filter(call.parameters, 1, "instance-type",
               wish_.type.empty() ? with_gpus : std::vector<std::string>{wish_.type});
    each(call, "instanceTypeSet", [&](const pugi::xml_node& item) {
      InstanceType type = type_of(item);
      cloud::complete(type, "aws");
      const bool is_named = !type.name.empty() && (!wish_.type.empty() || type.gpus > 0);
      if (is_named && cloud::suits(type, wish_)) survey_.types[type.name] = type;
    });
  }

  static InstanceType type_of(const pugi::xml_node& item) {
    InstanceType type{
        .name = item.child_value("instanceType"),
        .cores = item.child("vCpuInfo").child("defaultVCpus").text().as_int(),
        .memory_gib = item.child("memoryInfo").child("sizeInMiB").text().as_double() / 1024};
    for (const pugi::xml_node& gpu : items(item.child("gpuInfo"), "gpus")) {
      type.gpu = gpu.child_value("name");
      type.gpus += gpu.child("count").text().as_int();
      type.gpu_memory_gib = gpu.child("memoryInfo").child("sizeInMiB").text().as_int() / 1024;
    }
    const pugi::xml_node network = item.child("networkInfo");
    std::vector<Card> cards;
    for (const pugi::xml_node& card : items(network, "networkCards")) {
      cards.push_back({card.child("networkCardIndex").text().as_int(),
                       card.child("peakBandwidthInGbps").text().as_double()});
      type.network_gbit += cards.back().gbit;
    }
    type.rdma_interfaces = network.child("efaInfo").child("maximumEfaInterfaces").text().as_int();
    type.rdma_gbit = rdma_gbit(cards, type.rdma_interfaces);
    type.rdma_cards = rdma_cards(std::move(cards), type.rdma_interfaces);
    for (const pugi::xml_node& name : items(item.child("processorInfo"), "supportedArchitectures"))
      if (name.text().get() != std::string_view("i386")) type.architecture = name.text().get();
    return type;
  }

  void ask_zones() {
    Ec2Call call{.action = "DescribeInstanceTypeOfferings",
                 .parameters = {{"LocationType", "availability-zone"}},
                 .doing = "asking for zones"};
    add_filter(call.parameters, 1, "instance-type", names_);
    each(call, "instanceTypeOfferingSet", [&](const pugi::xml_node& item) {
      survey_.zones[item.child_value("instanceType")].insert(item.child_value("location"));
    });
  }

  void ask_spot_prices() {
    const auto now = std::chrono::system_clock::now();
    Ec2Call call{
        .action = "DescribeSpotPriceHistory",
        .parameters = {{"StartTime", utc_text(now)}, {"ProductDescription.1", "Linux/UNIX"}},
        .doing = "asking for spot prices"};
    add_list(call.parameters, "InstanceType", names_);
    each(call, "spotPriceHistorySet", [&](const pugi::xml_node& item) {
      const double price = item.child("spotPrice").text().as_double();
      if (!(price > 0)) return;  // The price is unknown.
      survey_.spot.try_emplace(
          {item.child_value("instanceType"), item.child_value("availabilityZone")},
          Money{price, partition_of(region_).currency});
    });
  }

  void ask_price(const std::string& type) {
    const auto price = prices_.of(type, region_, cancel_);
    const std::lock_guard lock(mutex_);
    if (price) survey_.on_demand.insert_or_assign(type, *price);
  }

  void ask_quota(const QuotaCode& quota) {
    const cloud::JsonAnswer answer =
        ec2_.json("servicequotas", region_, "ServiceQuotasV20190624.GetServiceQuota",
                  {{"ServiceCode", "ec2"}, {"QuotaCode", quota.code}}, cancel_);
    const auto value = answer["Quota"]["Value"].number();
    const std::lock_guard lock(mutex_);
    if (value) survey_.cores_allowed[quota.family] = *value;
  }

  Ec2& ec2_;
  Prices& prices_;
  std::string region_;
  const MachineRequest& wish_;
  const Cancel& cancel_;
  std::vector<std::string> names_;
  std::mutex mutex_;  ///< Guards the facts that several threads fill in.
  Survey survey_;
};

std::optional<Money> price_of(const Survey& survey, Market market, const std::string& type,
                              const std::string& zone) {
  if (market == Market::spot) {
    const auto found = survey.spot.find({type, zone});
    return found == survey.spot.end() ? std::nullopt : std::optional(found->second);
  }
  const auto found = survey.on_demand.find(type);
  return found == survey.on_demand.end() ? std::nullopt : std::optional(found->second);
}

/// Returns the number of further machines that the account may have; absent if its quota is
/// unknown.
std::optional<int> quota_for(const Survey& survey, const InstanceType& type, Market market) {
  const char family = type.name.empty() ? ' ' : type.name.front();
  const auto allowed = survey.cores_allowed.find(family);
  if (allowed == survey.cores_allowed.end() || type.cores <= 0) return std::nullopt;
  const auto used = survey.cores_used.find({family, market});
  const double left = allowed->second - (used == survey.cores_used.end() ? 0 : used->second);
  return static_cast<int>(std::clamp(left, 0.0, 1e6)) / type.cores;
}

}  // namespace

std::vector<Offer> AwsCloud::offers(const std::string& region, const MachineRequest& wished,
                                    const Cancel& cancel) {
  MachineRequest request = wished;
  std::optional<Reservation> reserved;
  if (!request.reservation.empty()) {
    reserved = reservation(region, request.reservation, cancel);
    if (!reserved) return {};
    const bool is_other = (!request.type.empty() && request.type != reserved->type) ||
                          (!request.zone.empty() && request.zone != reserved->zone);
    if (is_other)
      throw Error(ErrorKind::usage, "aws: reservation " + request.reservation + " is for " +
                                        reserved->type + " in " + reserved->zone);
    request.type = reserved->type;
    request.zone = reserved->zone;
  }
  const Survey survey = Surveyor(ec2_, prices_, region, request, cancel).look();
  std::vector<Offer> offers;
  for (const auto& [name, type] : survey.types) {
    const auto zones = survey.zones.find(name);
    if (zones == survey.zones.end()) continue;
    for (const std::string& zone : zones->second) {
      if (!request.zone.empty() && zone != request.zone) continue;
      Offer offer{.cloud = "aws", .site = {region, zone}, .type = type, .market = request.market};
      offer.price_per_hour = price_of(survey, request.market, name, zone);
      offer.quota = quota_for(survey, type, request.market);
      if (reserved) {
        offer.quota = std::max(0, reserved->available);
        offer.stock = reserved->available > 0 ? cloud::Stock::enough : cloud::Stock::none;
        if (reserved->is_block)
          offer.price_per_hour.reset();  // The machine was paid for when the block was bought.
      }
      offers.push_back(std::move(offer));
    }
  }
  return offers;
}

std::vector<Quota> AwsCloud::quotas(const std::string& region, const Cancel& cancel) {
  std::vector<Quota> quotas;
  std::optional<Cores> used;
  cloud::where_told([&] { used = cores_used(ec2_, region, cancel); });
  for (const QuotaCode& quota : kQuotas) {
    const auto answer = ec2_.json("servicequotas", region, "ServiceQuotasV20190624.GetServiceQuota",
                                  {{"ServiceCode", "ec2"}, {"QuotaCode", quota.code}}, cancel);
    const auto value = answer["Quota"]["Value"].number();
    if (!value) continue;
    quotas.push_back({.name = quota.name, .limit = *value, .unit = "vCPU"});
    if (used) quotas.back().used = (*used)[{quota.family, quota.market}];
  }
  return quotas;
}

}  // namespace fastgpu::provision::aws
