// Exchange rates: dated reference rates, and the user's own in their place.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/money.hpp"

namespace fastgpu::provision::cloud {

/// The currency in which offers are ranked.
inline constexpr Currency kRankingCurrency = kUsd;

class ExchangeRates {
 public:
  /// Returns the reference rates that are part of the program.
  static ExchangeRates built_in();

  /// Reads a list of rates in the form of exchange_rates.txt. Throws ErrorKind::internal for any
  /// other text.
  static ExchangeRates parse(std::string_view text);

  /// Replaces reference rates by the user's: "CNY=0.14" is the worth of one yuan in US dollars;
  /// several are separated by commas. Throws ErrorKind::usage with the value met.
  void set(std::string_view assignments);

  /// Returns the day of the reference rates: "2026-10-30".
  const std::string& date() const noexcept { return date_; }

  /// Converts money. Throws ErrorKind::usage, naming --exchange-rate, if a currency's rate is
  /// unknown.
  Money in(Currency currency, const Money& money) const;

  /// Returns "1 CNY = 0.1503 USD (reference rate of 2026-10-30)", "1 CNY = 0.14 USD
  /// (--exchange-rate)".
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
