// Amounts of money, always with their currency.
#pragma once

#include <array>
#include <compare>
#include <string>
#include <string_view>

namespace fastgpu {

/// A currency by its ISO 4217 code: three capital letters.
class Currency {
 public:
  explicit constexpr Currency(const char (&code)[4]) noexcept : code_{code[0], code[1], code[2]} {}

  /// Parses "usd", "USD". Throws ErrorKind::usage for anything but three letters.
  static Currency parse(std::string_view text);

  std::string text() const { return {code_.data(), code_.size()}; }

  friend constexpr auto operator<=>(const Currency&, const Currency&) = default;

 private:
  std::array<char, 3> code_;
};

inline constexpr Currency kUsd{"USD"};
inline constexpr Currency kCny{"CNY"};

/// An amount in one currency. Adding or comparing amounts in different currencies throws
/// ErrorKind::internal; convert them by ExchangeRates first.
struct Money {
  double amount;
  Currency currency;

  friend bool operator==(const Money&, const Money&) = default;
};

Money operator+(const Money& a, const Money& b);
Money operator-(const Money& a, const Money& b);
Money operator*(const Money& money, double factor) noexcept;
/// Returns the ratio of `a` to `b`; infinite if `b` is 0.
double operator/(const Money& a, const Money& b);
bool operator<(const Money& a, const Money& b);

/// Parses "3USD", "3 usd", "0.25CNY". Throws ErrorKind::usage with the value met for anything else,
/// including an amount of 0 or less and a bare number. The message shows the right form.
Money parse_money(std::string_view text);

std::string to_string(const Money& money);  ///< "12.24 USD", "0.0035 USD"

}  // namespace fastgpu
