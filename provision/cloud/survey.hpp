// Who has what is wished: all clouds and regions asked at once, and the answers in an order.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {

struct Answers {
  std::vector<Offer> offers;
  std::vector<std::pair<std::string, Error>> failures;  ///< By "cloud region".
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

/// The cheapest first; among equals those with stock told, with RDMA, and by name. Where prices are
/// not told, the smaller machine is taken for the cheaper one. Pure.
RankedOffers rank(std::vector<Offer> offers, const Wish& wish);

/// What the offers lack, counted: "3 without stock, 1 over the price". Pure.
std::string why_none(const RankedOffers& ranked);

}  // namespace fastgpu::provision::cloud
