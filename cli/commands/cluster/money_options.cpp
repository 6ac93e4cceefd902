#include "cli/commands/cluster/money_options.hpp"

namespace fastgpu::cli {

using provision::cloud::ExchangeRates;

void describe_exchange_rates(Arguments& arguments, std::vector<std::string>& rates) {
  arguments.list("--exchange-rate", "CUR=USD",
                 "Exchange rate to US dollars [CNY=0.14] (a reference rate)", rates);
}

ExchangeRates rates_for(Context& context, const std::vector<std::string>& given) {
  ExchangeRates rates = ExchangeRates::built_in();
  if (const std::string& usual = context.settings().text("exchange-rate"); !usual.empty())
    rates.set(usual);
  for (const std::string& one : given)
    rates.set(one);
  return rates;
}

Money money_in(std::string_view flag, std::string_view text, const ExchangeRates& rates) {
  try {
    const Money money = parse_money(text);
    rates.in(provision::cloud::kRankingCurrency, money);
    return money;
  } catch (const Error& e) {
    throw e.during(flag);
  }
}

Money price_in(std::string_view flag, std::string_view text, const ExchangeRates& rates) {
  if (text.ends_with("/h")) text.remove_suffix(2);
  return money_in(flag, text, rates);
}

}  // namespace fastgpu::cli
