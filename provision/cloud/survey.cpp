#include "provision/cloud/survey.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/parallel.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/providers.hpp"

namespace fastgpu::provision::cloud {
namespace {

struct Question {
  Cloud* cloud;
  std::string region;
};

/// Returns the questions to ask. A cloud that fails to list its regions is added to the failed
/// ones.
std::vector<Question> questions(std::span<Cloud* const> clouds, const std::string& region,
                                RegionAnswers& heard, const Cancel& cancel) {
  const auto regions = parallel_map(
      clouds, clouds.size(), [&](Cloud* cloud) { return regions_to_ask(*cloud, region, cancel); });
  std::vector<Question> result;
  for (std::size_t i = 0; i < clouds.size(); ++i) {
    if (!regions[i].ok()) {
      heard.failed.emplace_back(RegionName(clouds[i]->name(), ""), regions[i].error());
      continue;
    }
    for (const std::string& one : regions[i].value())
      result.push_back({clouds[i], one});
  }
  return result;
}

constexpr const char* kOverThePrice = "over the price";
constexpr const char* kBeyondQuota = "beyond the quota";
constexpr const char* kWithoutPrice = "without a price";

/// Returns the reason against an offer; empty if it is usable.
std::string speaks_against(const Offer& offer, const MachineRequest& request,
                           const std::optional<Money>& most) {
  if (request.rdma && offer.type.rdma_interfaces == 0) return "without RDMA";
  if (offer.stock == Stock::none) return "without stock";
  if (offer.quota && *offer.quota < request.nodes) return kBeyondQuota;
  if (most && !offer.compared) return kWithoutPrice;
  if (most && *most < *offer.compared) return kOverThePrice;
  return {};
}

auto order(const Offer& offer) {
  const double price = offer.compared ? offer.compared->amount : std::numeric_limits<double>::max();
  const int stock = offer.stock == Stock::enough ? 0 : offer.stock == Stock::low ? 1 : 2;
  const int size = offer.price_per_hour ? 0 : offer.type.gpus;
  return std::make_tuple(price, stock, size, -offer.type.rdma_interfaces, offer.cloud,
                         offer.site.region, offer.site.zone, offer.type.name);
}

/// Returns the offers that have this reason against them.
std::vector<const Offer*> with_reason(const RankedOffers& ranked, std::string_view reason) {
  std::vector<const Offer*> offers;
  for (const auto& [offer, against] : ranked.unusable)
    if (against == reason) offers.push_back(&offer);
  return offers;
}

/// Returns the names of the offers' clouds.
std::set<std::string> clouds_among(std::span<const Offer* const> offers) {
  std::set<std::string> clouds;
  for (const Offer* offer : offers)
    clouds.insert(offer->cloud);
  return clouds;
}

/// Returns " (room for 3 more of g4dn.xlarge in us-east-1, 4 requested; `fastgpu get quotas` shows
/// the account's limits; to raise them, see https://...)", with the largest room.
std::string largest_room(const RankedOffers& ranked, const MachineRequest& request) {
  const auto offers = with_reason(ranked, kBeyondQuota);
  const Offer& best = **std::ranges::max_element(
      offers, {}, [](const Offer* offer) { return offer->quota.value_or(0); });
  std::string text = " (room for " + std::to_string(best.quota.value_or(0)) + " more of " +
                     best.type.name + " in " + best.site.region + ", " +
                     std::to_string(request.nodes) + " requested";
  if (!request.reservation.empty()) return text + " of reservation " + request.reservation + ")";
  text += "; `fastgpu get quotas` shows the account's limits";
  std::string pages;
  for (const std::string& cloud : clouds_among(offers))
    if (const std::string_view page = provider_info(cloud).quota_page; !page.empty())
      append_item(pages, page, " and ");
  if (!pages.empty()) text += "; to raise them, see " + pages;
  return text + ")";
}

/// Returns the remedy for offers whose unknown price cannot be compared with --max-price.
std::string without_limit(const RankedOffers& ranked, const MachineRequest& request) {
  std::string clouds;
  if (request.market == Market::spot)
    for (const std::string& cloud : clouds_among(with_reason(ranked, kWithoutPrice)))
      if (!provider_info(cloud).has_spot_prices) append_item(clouds, cloud, " and ");
  const std::string remedy =
      "replace --max-price by --instance-type, which bounds the machine, and --max-life, which "
      "bounds the time";
  if (clouds.empty()) return " (" + remedy + ")";
  return " (" + clouds + " has no prices of spot machines: " + remedy + ")";
}

/// Returns the reason against an offer without a price that is much larger than requested; empty
/// if the offer may be used. Without a price, the number of GPUs limits the cost.
std::string too_large(const Offer& offer, const MachineRequest& request) {
  if (!request.type.empty() || request.gpus <= 0) return {};
  if (offer.type.gpus <= kMostDearer * request.gpus) return {};
  return "with " + std::to_string(offer.type.gpus) + " GPUs instead of " +
         std::to_string(request.gpus) + ", at an unknown price: not without --instance-type";
}

/// Keeps the usable offers against which `reason` finds nothing.
template <class Reason>
RankedOffers without(RankedOffers ranked, Reason reason) {
  std::vector<Offer> kept;
  for (Offer& offer : ranked.usable) {
    std::string against = reason(offer);
    if (against.empty())
      kept.push_back(std::move(offer));
    else
      ranked.unusable.emplace_back(std::move(offer), std::move(against));
  }
  ranked.usable = std::move(kept);
  return ranked;
}

/// Returns " of 1.00 USD/h (the cheapest is 1.05 USD/h: g4dn.xlarge in us-east-1a)".
std::string cheapest_over(const RankedOffers& ranked, const Money& most) {
  const auto cheapest =
      std::ranges::find(ranked.unusable, kOverThePrice, &std::pair<Offer, std::string>::second);
  const Offer& offer = cheapest->first;
  return " of " + per_hour(most) + " (the cheapest is " +
         per_hour(offer.price_per_hour, offer.compared) + ": " + offer.type.name + " in " +
         offer.site.zone + ")";
}

}  // namespace

std::vector<std::string> regions_to_ask(Cloud& cloud, const std::string& region,
                                        const Cancel& cancel) {
  if (region == kAllRegions) return cloud.regions(cancel);
  if (!region.empty()) return {region};
  return cloud.usual_regions();
}

Answers survey(std::span<Cloud* const> clouds, const std::string& region,
               const MachineRequest& request, const Cancel& cancel) {
  Answers result;
  const std::vector<Question> asked = questions(clouds, region, result.heard, cancel);
  auto answers = parallel_map(std::span(asked), asked.size(), [&](const Question& question) {
    if (!request.reservation.empty() && !question.cloud->limits().has_reservations)
      throw Error(ErrorKind::usage, std::string(question.cloud->name()) +
                                        " has no reservations that fastgpu can use: leave "
                                        "--reservation out, or name another --cloud");
    return question.cloud->offers(question.region, request, cancel);
  });
  cancel.check();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    RegionName where(asked[i].cloud->name(), asked[i].region);
    if (!answers[i].ok()) {
      result.heard.failed.emplace_back(std::move(where), answers[i].error());
      continue;
    }
    result.heard.answered.push_back(std::move(where));
    std::ranges::move(std::move(answers[i]).value(), std::back_inserter(result.offers));
  }
  for (Offer& offer : result.offers)
    complete(offer.type, offer.cloud);
  return result;
}

std::vector<std::string> reasons(const RegionAnswers& heard) {
  std::set<std::string> trusted;  // Clouds that have accepted the credentials.
  for (const auto& [cloud, region] : heard.answered)
    trusted.insert(cloud);
  std::map<std::string, std::string> not_enabled;  // By the cloud.
  std::vector<std::string> sentences;
  for (const auto& [where, error] : heard.failed) {
    const auto& [cloud, region] = where;
    const std::string why = error.what();
    std::string& skipped = not_enabled[cloud];
    if (error.kind() == ErrorKind::denied && trusted.contains(cloud))
      append_item(skipped, region);
    else if (!contains(sentences, why))
      sentences.push_back(why.starts_with(cloud + ":") ? why : cloud + " " + region + ": " + why);
  }
  for (const auto& [cloud, regions] : not_enabled) {
    const auto count = std::ranges::count(regions, ',') + 1;
    if (!regions.empty())
      sentences.push_back(cloud + ": " + counted(count, "region") +
                          " skipped: the account has not enabled " +
                          (count == 1 ? "it: " : "them: ") + regions);
  }
  return sentences;
}

RankedOffers rank(std::vector<Offer> offers, const MachineRequest& request,
                  const ExchangeRates& rates) {
  std::optional<Money> most;
  if (request.max_price) most = rates.in(kRankingCurrency, *request.max_price);
  for (Offer& offer : offers)
    if (offer.price_per_hour) offer.compared = rates.in(kRankingCurrency, *offer.price_per_hour);
  std::ranges::sort(offers, {}, order);
  RankedOffers ranked;
  for (Offer& offer : offers) {
    std::string reason = speaks_against(offer, request, most);
    if (reason.empty())
      ranked.usable.push_back(std::move(offer));
    else
      ranked.unusable.emplace_back(std::move(offer), std::move(reason));
  }
  return ranked;
}

RankedOffers without_dear(RankedOffers ranked, const MachineRequest& request) {
  if (request.max_price || ranked.usable.empty()) return ranked;
  if (!ranked.usable.front().compared)
    return without(std::move(ranked),
                   [&](const Offer& offer) { return too_large(offer, request); });
  const Money best = *ranked.usable.front().compared;
  return without(std::move(ranked), [&](const Offer& offer) -> std::string {
    if (!offer.compared) return kWithoutPrice;
    const double times = *offer.compared / best;
    if (times <= kMostDearer) return {};
    char text[64];
    std::snprintf(text, sizeof text, "%.1f times the best price: not without --max-price", times);
    return text;
  });
}

std::string why_none(const RankedOffers& ranked, const MachineRequest& request) {
  std::map<std::string, int> counts;
  for (const auto& [offer, reason] : ranked.unusable)
    ++counts[reason];
  std::string text;
  for (const auto& [reason, count] : counts) {
    append_item(text, std::to_string(count) + " " + reason);
    if (reason == kOverThePrice && request.max_price)
      text += cheapest_over(ranked, *request.max_price);
    if (reason == kBeyondQuota) text += largest_room(ranked, request);
    if (reason == kWithoutPrice && request.max_price) text += without_limit(ranked, request);
  }
  return text.empty() ? "no cloud has such machines" : text;
}

std::string per_hour(const std::optional<Money>& price) {
  return price ? to_string(*price) + "/h" : "price unknown";
}

std::string per_hour(const std::optional<Money>& price, const std::optional<Money>& compared) {
  const bool is_other = price && compared && price->currency != compared->currency;
  return per_hour(price) + (is_other ? " (" + per_hour(compared) + ")" : "");
}

}  // namespace fastgpu::provision::cloud
