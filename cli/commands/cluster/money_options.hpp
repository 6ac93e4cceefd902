// Amounts of money in the user's notation, and their exchange rates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "provision/cloud/exchange_rates.hpp"

namespace fastgpu::cli {

/// Adds --exchange-rate.
void describe_exchange_rates(Arguments& arguments, std::vector<std::string>& rates);

/// Returns the reference rates, with those of the settings and, over these, of the flag in their
/// place.
provision::cloud::ExchangeRates rates_for(Context& context, const std::vector<std::string>& given);

/// Returns the amount in `flag`: "50USD". Throws ErrorKind::usage, naming the flag, for text
/// without an amount and a currency, and for a currency without a rate.
Money money_in(std::string_view flag, std::string_view text,
               const provision::cloud::ExchangeRates& rates);

/// Returns a price per hour: "3USD", "3USD/h".
Money price_in(std::string_view flag, std::string_view text,
               const provision::cloud::ExchangeRates& rates);

}  // namespace fastgpu::cli
