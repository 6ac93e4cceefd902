// A survey asks all clouds and regions at once, and ranks their offers.
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

/// The regions that answered a question, and those that failed.
struct RegionAnswers {
  std::vector<RegionName> answered;
  std::vector<std::pair<RegionName, Error>> failed;  ///< An empty region means the whole cloud.
};

/// Returns a sentence for each reason, with its regions. A region that refuses credentials which
/// other regions of the cloud have accepted is reported as not enabled for the account. Pure.
std::vector<std::string> reasons(const RegionAnswers& heard);

struct Answers {
  std::vector<Offer> offers;
  RegionAnswers heard;
};

/// The word for every region that the account may use, in place of a region's name.
constexpr std::string_view kAllRegions = "all";

/// Returns the regions that `region` means in this cloud: the region itself; for "all" every region
/// of the cloud, from its API; for "" the usual ones.
std::vector<std::string> regions_to_ask(Cloud& cloud, const std::string& region,
                                        const Cancel& cancel);

/// Asks each cloud in the regions that `region` means.
Answers survey(std::span<Cloud* const> clouds, const std::string& region,
               const MachineRequest& request, const Cancel& cancel);

struct RankedOffers {
  std::vector<Offer> usable;                              ///< Sorted, the best first.
  std::vector<std::pair<Offer, std::string>> unusable{};  ///< Each with the reason against it.
};

/// Ranks the offers, the cheapest first, with all prices in kRankingCurrency. Offers with equal
/// prices are ordered by known stock, RDMA and name. If prices are unknown, the smaller machine
/// counts as cheaper. With a maximum price an offer without a price is not usable. Throws
/// ErrorKind::usage for a currency whose rate is unknown. Pure.
RankedOffers rank(std::vector<Offer> offers, const MachineRequest& request,
                  const ExchangeRates& rates);

/// The maximum price of a place that is used without asking instead of the best one, as a multiple
/// of the best one's price.
constexpr double kMostDearer = 2;

/// Moves offers to the unusable ones if they cost more than kMostDearer times the best, or if only
/// their price is unknown. They are not a substitute if the user set no maximum price. If no price
/// is known, moves those with more than kMostDearer times the requested GPUs, unless the user named
/// the type. Pure.
RankedOffers without_dear(RankedOffers ranked, const MachineRequest& request);

/// Returns the offers' shortcomings, counted: with the cheapest price if that is over the maximum,
/// the room in the largest quota and the pages on which quotas are raised, and the remedy for
/// prices that are unknown. Example: "3 without stock, 1 over the price of 1.00 USD/h (the cheapest
/// is 1.05 USD/h: g4dn.xlarge in us-east-1a)". Pure.
std::string why_none(const RankedOffers& ranked, const MachineRequest& request);

/// Returns "12.24 USD/h"; "price unknown".
std::string per_hour(const std::optional<Money>& price);
/// Returns the price, followed by the price in the ranking's currency if that differs: "30.00 CNY/h
/// (4.51 USD/h)".
std::string per_hour(const std::optional<Money>& price, const std::optional<Money>& compared);

}  // namespace fastgpu::provision::cloud
