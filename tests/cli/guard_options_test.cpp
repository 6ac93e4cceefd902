#include "cli/commands/guard_options.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;
using fastgpu::test::failure_of;
using provision::Guards;
using provision::cloud::Money;

const Money kDollars{2, "USD"};

TEST_SUITE_BEGIN("cli/guard_options");

TEST_CASE("guards are changed by what is said, and off takes them away") {
  const Guards before{.max_life = 8h, .max_cost = 50, .idle_stop = 30min};
  CHECK(with_options(before, {}, kDollars) == before);
  const Guards after = with_options(
      before, {.max_life = "12h", .max_cost = "off", .unattended = "2h", .idle_stop = "off"},
      kDollars);
  CHECK(after == Guards{.max_life = 12h, .unattended = 2h});
}

TEST_CASE("a cost may name its currency, which is that of the price") {
  for (const char* text : {"50", "50usd", "50 USD", "50.0Usd"}) {
    CAPTURE(text);
    CHECK(with_options({}, {.max_cost = text}, kDollars).max_cost == 50);
  }
  for (const char* text : {"50cny", "usd", "0", "-1", "50$", "1e30", "nan", "50 u s d x1"}) {
    CAPTURE(text);
    const auto read = [&] { with_options({}, {.max_cost = text}, kDollars); };
    CHECK(failure_of(read).kind() == ErrorKind::usage);
  }
  CHECK(with_options({}, {.max_cost = "50cny"}, {}).max_cost == 50);
}

TEST_CASE("times that are none are refused") {
  for (const char* text : {"0", "soon", "-1h", "10ms", "8", "5", "1.5"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { with_options({}, {.unattended = text}, {}); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with("--unattended '"));
  }
  CHECK(with_options({}, {.max_life = "1h30m", .idle_delete = "1 week"}, {}) ==
        Guards{.max_life = 90min, .idle_delete = 168h});
}

TEST_CASE("flags go over the file") {
  const config::GuardEntry file{.max_life = "8h", .idle_stop = "30m"};
  const GuardOptions both = over_file({.max_life = "1h"}, file);
  CHECK(both.max_life == "1h");
  CHECK(both.idle_stop == "30m");
  CHECK_FALSE(says_nothing(both));
  CHECK(says_nothing({}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
