#include "cli/commands/cluster/guard_options.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;
using fastgpu::test::failure_of;
using provision::Guards;

const Money kDollars{2, kUsd};
const auto kRates =
    provision::cloud::ExchangeRates::parse("date 2026-01-02\nEUR 1\nUSD 1\nCNY 8\n");

TEST_SUITE_BEGIN("cli/guard_options");

TEST_CASE("guards are changed by what is said, and off takes them away") {
  const Guards before{.max_life = 8h, .max_cost = Money{50, kUsd}, .idle_stop = 30min};
  CHECK(with_options(before, {}, kDollars, kRates) == before);
  const Guards after = with_options(
      before, {.max_life = "12h", .max_cost = "off", .unattended = "2h", .idle_stop = "off"},
      kDollars, kRates);
  CHECK(after == Guards{.max_life = 12h, .unattended = 2h});
}

TEST_CASE("a cost has a currency, and is counted in that of the price") {
  for (const char* text : {"50usd", "50 USD", "50.0Usd"}) {
    CAPTURE(text);
    CHECK(with_options({}, {.max_cost = text}, kDollars, kRates).max_cost == Money{50, kUsd});
  }
  CHECK(with_options({}, {.max_cost = "50cny"}, kDollars, kRates).max_cost == Money{6.25, kUsd});
  CHECK(with_options({}, {.max_cost = "50usd"}, Money{30, kCny}, kRates).max_cost ==
        Money{400, kCny});
  CHECK(with_options({}, {.max_cost = "50cny"}, {}, kRates).max_cost == Money{50, kCny});
}

TEST_CASE("a cost that is none is refused, and a bare number is none") {
  for (const char* text : {"50", "usd", "0usd", "-1usd", "50$", "1e30usd", "nan", "50xyz"}) {
    CAPTURE(text);
    const Error error = failure_of([&] { with_options({}, {.max_cost = text}, kDollars, kRates); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).starts_with("--max-cost"));
  }
}

TEST_CASE("times that are none are refused") {
  for (const char* text : {"0", "soon", "-1h", "10ms", "8", "5", "1.5"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { with_options({}, {.unattended = text}, {}, kRates); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with("--unattended '"));
  }
  CHECK(with_options({}, {.max_life = "1h30m", .idle_delete = "1 week"}, {}, kRates) ==
        Guards{.max_life = 90min, .idle_delete = 168h});
}

TEST_CASE("flags go over the file") {
  const provision::GuardEntry file{.max_life = "8h", .idle_stop = "30m"};
  const GuardOptions both = over_file({.max_life = "1h"}, file);
  CHECK(both.max_life == "1h");
  CHECK(both.idle_stop == "30m");
  CHECK_FALSE(says_nothing(both));
  CHECK(says_nothing({}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
