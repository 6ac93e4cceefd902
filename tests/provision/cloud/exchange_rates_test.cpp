#include "provision/cloud/exchange_rates.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using fastgpu::test::failure_of;

const char* const kText = "# of a test\ndate 2026-01-02\nEUR 1\nUSD 1.25\nCNY 10\n";

TEST_SUITE_BEGIN("provision/cloud/exchange_rates");

TEST_CASE("the rates of the program have a day, and the currencies of all clouds") {
  const ExchangeRates rates = ExchangeRates::built_in();
  CHECK(rates.date().size() == std::string("2026-01-02").size());
  const double yuan = rates.in(kUsd, {1, kCny}).amount;
  CHECK(yuan > 0.1);
  CHECK(yuan < 0.25);
}

TEST_CASE("an amount is turned into another currency and back") {
  const ExchangeRates rates = ExchangeRates::parse(kText);
  CHECK(rates.in(kUsd, {8, kCny}) == Money{1, kUsd});
  CHECK(rates.in(kCny, {1, kUsd}) == Money{8, kCny});
  CHECK(rates.in(kUsd, {3, kUsd}) == Money{3, kUsd});
  CHECK(rates.basis(kCny, kUsd) == "1 CNY = 0.125 USD (reference rate of 2026-01-02)");
}

TEST_CASE("rates of the user are taken in place of the reference, several at once") {
  ExchangeRates rates = ExchangeRates::parse(kText);
  rates.set("CNY=0.14, xts=2");
  CHECK(rates.in(kUsd, {100, kCny}).amount == doctest::Approx(14));
  CHECK(rates.in(kUsd, {1, Currency("XTS")}).amount == doctest::Approx(2));
  CHECK(rates.basis(kCny, kUsd) == "1 CNY = 0.14 USD (--exchange-rate)");
}

TEST_CASE("what is no rate is refused, with what was met") {
  ExchangeRates rates = ExchangeRates::parse(kText);
  for (const char* text : {"", "CNY", "CNY=", "=1", "CNY=0", "CNY=-1", "CNY=nan", "CNY=inf",
                           "CNY=1e9", "CNY=0,14", "YUAN=0.14", "USD=1", "CNY=0.14;EUR=1", "0.14"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { rates.set(text); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("a currency without a rate is refused") {
  const ExchangeRates rates = ExchangeRates::parse(kText);
  const Error error = failure_of([&] { rates.in(kUsd, {1, Currency("XTS")}); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(std::string(error.what()).find("XTS") != std::string::npos);
}

TEST_CASE("a list of rates without a day or a number is a bug") {
  for (const char* text : {"", "date 2026-01-02\n", "USD 1\n", "date 2026-01-02\nUSD x\n"})
    CHECK(failure_of([&] { ExchangeRates::parse(text); }).kind() == ErrorKind::internal);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
