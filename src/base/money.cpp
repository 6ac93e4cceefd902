#include "base/money.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu {
namespace {

constexpr double kMost = 1e9;

void check_same(const Money& a, const Money& b) {
  if (a.currency != b.currency)
    throw Error(ErrorKind::internal, "amounts of " + a.currency.text() + " and " +
                                         b.currency.text() + " are taken for one currency");
}

[[noreturn]] void refuse_money(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, "'" + printable(text) + "' " + why);
}

double amount_in(std::string_view digits, std::string_view text) {
  double amount = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, amount, std::chars_format::fixed);
  const bool is_plain = digits.find_first_not_of("0123456789.") == std::string_view::npos;
  if (error != std::errc{} || stop != end || !is_plain)
    refuse_money(text, "is not an amount of money: write 3USD or 0.25CNY");
  if (!(amount > 0)) refuse_money(text, "is not an amount of money: it has to be more than 0");
  if (amount > kMost) refuse_money(text, "is more money than fastgpu counts with (1e9)");
  return amount;
}

}  // namespace

Currency Currency::parse(std::string_view text) {
  if (text.size() != 3 || !std::ranges::all_of(text, is_ascii_letter))
    refuse_money(text, "is not a currency: write its three letters, such as USD");
  Currency currency = kUsd;
  std::ranges::transform(text, currency.code_.begin(),
                         [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return currency;
}

Money operator+(const Money& a, const Money& b) {
  check_same(a, b);
  return {a.amount + b.amount, a.currency};
}

Money operator-(const Money& a, const Money& b) {
  check_same(a, b);
  return {a.amount - b.amount, a.currency};
}

Money operator*(const Money& money, double factor) noexcept {
  return {money.amount * factor, money.currency};
}

double operator/(const Money& a, const Money& b) {
  check_same(a, b);
  return b.amount > 0 ? a.amount / b.amount : std::numeric_limits<double>::infinity();
}

bool operator<(const Money& a, const Money& b) {
  check_same(a, b);
  return a.amount < b.amount;
}

Money parse_money(std::string_view text) {
  const auto* const letters = std::ranges::find_if(text, is_ascii_letter);
  std::string_view digits(text.begin(), static_cast<std::size_t>(letters - text.begin()));
  const std::string_view code = text.substr(digits.size());
  if (digits.ends_with(' ')) digits.remove_suffix(1);
  const double amount = amount_in(digits, text);
  if (code.empty())
    refuse_money(text, "has no currency: write " + std::string(digits) + "USD, or another one");
  try {
    return {amount, Currency::parse(code)};
  } catch (const Error&) {
    refuse_money(text, "is not an amount of money: write 3USD or 0.25CNY");
  }
}

std::string to_string(const Money& money) {
  char text[64];
  const bool is_small = money.amount > 0 && money.amount < 0.1;
  std::snprintf(text, sizeof text, is_small ? "%.4f" : "%.2f", money.amount);
  return std::string(text) + " " + money.currency.text();
}

}  // namespace fastgpu
