// Amounts of money and exchange rates, as the user types them.
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

/// Returns the exchange rates: the built-in ones, overridden by those of the settings, and these by
/// those of the flag.
provision::cloud::ExchangeRates rates_for(Context& context, const std::vector<std::string>& given);

/// Returns the amount in the value of `flag`, such as "50USD". Throws ErrorKind::usage, naming the
/// flag, if the amount, the currency or a rate for the currency is missing.
Money money_in(std::string_view flag, std::string_view text,
               const provision::cloud::ExchangeRates& rates);

/// Returns the price per hour in the value of `flag`: "3USD" or "3USD/h".
Money price_in(std::string_view flag, std::string_view text,
               const provision::cloud::ExchangeRates& rates);

}  // namespace fastgpu::cli
