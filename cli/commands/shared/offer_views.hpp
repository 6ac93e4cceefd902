// Offers of clouds, instance types and prices for the user.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/ui/view.hpp"
#include "provision/cloud/survey.hpp"

namespace fastgpu::cli {

/// Returns the offers as a table, from the best one on.
View view_of_offers(const provision::cloud::RankedOffers& offers);

/// Returns the facts about a type of that cloud.
Json to_json(std::string_view cloud, const provision::cloud::InstanceType& type);

/// Returns the RDMA interfaces of a type: "4xEFA"; "-" without one.
std::string rdma_text(std::string_view cloud, const provision::cloud::InstanceType& type);
/// Returns the rate of its RDMA interfaces: "400 Gbit/s", "?" if it is unknown, "-" without one.
std::string rdma_speed_text(const provision::cloud::InstanceType& type);

std::string gpus_text(
    const provision::cloud::InstanceType& type);  ///< Returns "8xA100-80G" or "-".
std::string number_text(double number);           ///< Returns "1.5" or "400".

Json money_json(
    const std::optional<Money>& money);  ///< Returns {"amount": 3, "currency": "USD"}, or null.
/// Sets "price_per_hour" and "currency" in `object`.
void put_price(Json& object, const std::optional<Money>& price);

/// Returns the price of several machines: "12.24 USD/h" or "price unknown".
std::string price_text(const std::optional<Money>& price, int machines);

}  // namespace fastgpu::cli
