#include "base/money.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("base/money");

TEST_CASE("an amount is read with its currency, in any case") {
  for (const char* text : {"3USD", "3usd", "3 USD", "3.0Usd", "003USD"}) {
    CAPTURE(text);
    CHECK(parse_money(text) == Money{3, kUsd});
  }
  CHECK(parse_money("0.25CNY") == Money{0.25, kCny});
  CHECK(parse_money("7eur").currency.text() == "EUR");
}

TEST_CASE("a bare number is refused, and the message says how to write it") {
  const Error error = failure_of([] { parse_money("3.5"); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(std::string(error.what()) == "'3.5' has no currency: write 3.5USD, or another one");
}

TEST_CASE("what is no amount of money is refused") {
  for (const char* text :
       {"",       "USD",    "-3USD", "0USD",  "0.0 USD",       "nan USD",  "inf",
        "1e3USD", "0x3USD", "3US",   "3USDT", "3,5USD",        "1,000USD", "3USD/h",
        "3  USD", " 3USD",  "3USD ", "$3",    "3\xe2\x82\xac", "3.4.5USD", "2000000000USD",
        "3\nUSD", "three"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_money(text); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("amounts of one currency are counted with") {
  const Money three{3, kUsd};
  CHECK(three + Money{4, kUsd} == Money{7, kUsd});
  CHECK(Money{4, kUsd} - three == Money{1, kUsd});
  CHECK(three * 2 == Money{6, kUsd});
  CHECK(Money{6, kUsd} / three == 2);
  CHECK(std::isinf(three / Money{0, kUsd}));
  CHECK(three < Money{4, kUsd});
}

TEST_CASE("amounts of two currencies are taken for a bug") {
  const Money dollars{3, kUsd};
  const Money yuan{20, kCny};
  CHECK(failure_of([&] { static_cast<void>(dollars < yuan); }).kind() == ErrorKind::internal);
  CHECK(failure_of([&] { static_cast<void>(dollars + yuan); }).kind() == ErrorKind::internal);
  CHECK(failure_of([&] { static_cast<void>(dollars - yuan); }).kind() == ErrorKind::internal);
  CHECK(failure_of([&] { static_cast<void>(dollars / yuan); }).kind() == ErrorKind::internal);
}

TEST_CASE("an amount is written with as many digits as it needs") {
  CHECK(to_string(Money{12.239, kUsd}) == "12.24 USD");
  CHECK(to_string(Money{0, kUsd}) == "0.00 USD");
  CHECK(to_string(Money{0.0035, kCny}) == "0.0035 CNY");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
