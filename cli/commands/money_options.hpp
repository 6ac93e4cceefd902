// Amounts of money as a user writes them, and the exchange rates that hold for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/context.hpp"
#include "provision/cloud/exchange_rates.hpp"

namespace fastgpu::cli {

/// --exchange-rate.
void describe_exchange_rates(Arguments& arguments, std::vector<std::string>& rates);

/// The reference rates, with those of the settings and, over these, of the flag in their place.
provision::cloud::ExchangeRates rates_for(Context& context, const std::vector<std::string>& given);

/// The amount that `flag` is given: "50USD". Throws ErrorKind::usage, naming the flag, for what is
/// no amount with a currency, and for a currency without a rate.
Money money_in(std::string_view flag, std::string_view text,
               const provision::cloud::ExchangeRates& rates);

/// The same for a price an hour: "3USD", "3USD/h".
Money price_in(std::string_view flag, std::string_view text,
               const provision::cloud::ExchangeRates& rates);

}  // namespace fastgpu::cli
