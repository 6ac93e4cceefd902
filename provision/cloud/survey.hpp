// Who has what is wished: all clouds and regions asked at once, and the answers in an order.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/exchange_rates.hpp"

namespace fastgpu::provision::cloud {

/// A region of a cloud, the cloud's name first.
using RegionName = std::pair<std::string, std::string>;

/// What regions have said to one question.
struct Heard {
  std::vector<RegionName> answered;
  std::vector<std::pair<RegionName, Error>> failed;  ///< Without a region: all of the cloud.
};

/// Returns a sentence for each reason, with the regions that it is the reason of. Regions that
/// refuse credentials which others of the same cloud have taken are those that the account has not
/// enabled. Pure.
std::vector<std::string> reasons(const Heard& heard);

struct Answers {
  std::vector<Offer> offers;
  Heard heard;
};

/// In place of a region's name: every region that the account may use.
constexpr std::string_view kAllRegions = "all";

/// The regions that `region` stands for with this cloud: itself; all, which the cloud is asked for;
/// or its usual ones for "".
std::vector<std::string> regions_to_ask(Cloud& cloud, const std::string& region,
                                        const Cancel& cancel);

/// Asks each cloud in the regions that `region` stands for.
Answers survey(std::span<Cloud* const> clouds, const std::string& region, const Wish& wish,
               const Cancel& cancel);

struct RankedOffers {
  std::vector<Offer> usable;                              ///< The best first.
  std::vector<std::pair<Offer, std::string>> unusable{};  ///< With what speaks against each.
};

/// The cheapest first, all prices in kRankingCurrency; among equals those with stock told, with
/// RDMA, and by name. Where prices are not told, the smaller machine is taken for the cheaper one.
/// With a maximum price an offer without a price is not usable. Throws ErrorKind::usage for a
/// currency whose rate is unknown. Pure.
RankedOffers rank(std::vector<Offer> offers, const Wish& wish, const ExchangeRates& rates);

/// The most that a place may cost which is taken in place of the best one without being asked for.
constexpr double kMostDearer = 2;

/// Moves those to the unusable ones that cost more than kMostDearer times the best, or of which the
/// price is not known where the best one's is: no substitute for the user who named no maximum
/// price. Pure.
RankedOffers without_dear(RankedOffers ranked, const Wish& wish);

/// What the offers lack, counted, and the cheapest price where that is over the maximum: "3 without
/// stock, 1 over the price of 1.00 USD/h (the cheapest is 1.05 USD/h: g4dn.xlarge in us-east-1a)".
/// Pure.
std::string why_none(const RankedOffers& ranked, const Wish& wish);

/// "12.24 USD/h"; "price unknown".
std::string per_hour(const std::optional<Money>& price);
/// With the same in the currency of the ranking where that is another: "30.00 CNY/h (4.51 USD/h)".
std::string per_hour(const std::optional<Money>& price, const std::optional<Money>& compared);

}  // namespace fastgpu::provision::cloud
