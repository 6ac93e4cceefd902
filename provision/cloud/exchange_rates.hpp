// What currencies are worth: dated reference rates, and those that the user says in their place.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/money.hpp"

namespace fastgpu::provision::cloud {

/// Offers are ranked in this currency.
inline constexpr Currency kRankingCurrency = kUsd;

class ExchangeRates {
 public:
  /// The reference rates that are part of the program.
  static ExchangeRates built_in();

  /// Reads a list of rates in the form of exchange_rates.txt. Throws ErrorKind::internal for any
  /// other text.
  static ExchangeRates parse(std::string_view text);

  /// Takes rates of the user in place of the reference: "CNY=0.14" is what one yuan is worth in US
  /// dollars; several are separated by commas. Throws ErrorKind::usage with the value met.
  void set(std::string_view assignments);

  /// The day of the reference rates: "2026-10-30".
  const std::string& date() const noexcept { return date_; }

  /// Throws ErrorKind::usage, naming --exchange-rate, where no rate of a currency is known.
  Money in(Currency currency, const Money& money) const;

  /// "1 CNY = 0.1503 USD (reference rate of 2026-10-30)", "1 CNY = 0.14 USD (--exchange-rate)".
  std::string basis(Currency from, Currency to) const;

 private:
  double per_euro(Currency currency) const;

  struct Rate {
    double per_euro;
    bool is_users;
  };
  std::map<Currency, Rate> rates_{};
  std::string date_{};
};

}  // namespace fastgpu::provision::cloud
