#include "provision/cloud/exchange_rates.hpp"

#include <charconv>
#include <cstdio>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/split.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr std::string_view kBuiltIn =
#include "exchange_rates.inc"
    ;

/// The largest plausible rate, and the inverse of the smallest. Any other rate is a typing error.
constexpr double kMostWorth = 1e6;

/// Returns a positive number in plain digits; 0 for any other text.
double rate_in(std::string_view digits) {
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, std::chars_format::fixed);
  const bool is_usable =
      error == std::errc{} && stop == end && value > 1 / kMostWorth && value < kMostWorth;
  return is_usable ? value : 0;
}

std::string rate_text(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", rate);
  return text;
}

}  // namespace

ExchangeRates ExchangeRates::built_in() {
  return parse(kBuiltIn);
}

ExchangeRates ExchangeRates::parse(std::string_view text) {
  ExchangeRates rates;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t space = line.find(' ');
    const std::string_view value = space == line.npos ? "" : line.substr(space + 1);
    if (line.starts_with("date ")) {
      rates.date_ = value;
      continue;
    }
    const double rate = rate_in(value);
    if (rate == 0)
      throw Error(ErrorKind::internal, "the exchange rate '" + printable(line) + "' is invalid");
    rates.rates_.insert_or_assign(Currency::parse(line.substr(0, space)), Rate{rate, false});
  }
  if (rates.date_.empty() || !rates.rates_.contains(kRankingCurrency))
    throw Error(ErrorKind::internal, "the exchange rates have no date, or no US dollar");
  return rates;
}

void ExchangeRates::set(std::string_view assignments) {
  for (const std::string_view part : split(assignments, ',')) {
    const std::string_view one = trimmed(part);
    const std::size_t equals = one.find('=');
    const double rate = equals == one.npos ? 0 : rate_in(one.substr(equals + 1));
    if (rate == 0)
      throw Error(ErrorKind::usage,
                  "--exchange-rate '" + printable(one) +
                      "' is not an exchange rate: write CNY=0.14, the worth of 1 CNY in USD");
    const Currency currency = Currency::parse(one.substr(0, equals));
    if (currency == kRankingCurrency)
      throw Error(ErrorKind::usage, "--exchange-rate '" + printable(one) +
                                        "': all rates are in USD, which is worth 1");
    rates_.insert_or_assign(currency, Rate{per_euro(kRankingCurrency) / rate, true});
  }
}

double ExchangeRates::per_euro(Currency currency) const {
  const auto found = rates_.find(currency);
  if (found != rates_.end()) return found->second.per_euro;
  throw Error(ErrorKind::usage,
              "the exchange rate of " + currency.text() +
                  " is unknown: give its worth in US dollars, as in --exchange-rate " +
                  currency.text() + "=0.14");
}

Money ExchangeRates::in(Currency currency, const Money& money) const {
  if (currency == money.currency) return money;
  return {money.amount / per_euro(money.currency) * per_euro(currency), currency};
}

std::string ExchangeRates::basis(Currency from, Currency to) const {
  const auto is_users = [&](Currency one) {
    const auto found = rates_.find(one);
    return found != rates_.end() && found->second.is_users;
  };
  const bool is_own = is_users(from) || is_users(to);
  return "1 " + from.text() + " = " + rate_text(in(to, {1, from}).amount) + " " + to.text() +
         (is_own ? " (--exchange-rate)" : " (reference rate of " + date_ + ")");
}

}  // namespace fastgpu::provision::cloud
