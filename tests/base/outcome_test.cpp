#include "base/outcome.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

namespace fastgpu {
namespace {

TEST_CASE("an attempt keeps the value, which can be moved out") {
  auto outcome = attempt([] { return std::make_unique<int>(7); });

  REQUIRE(outcome.ok());
  const std::unique_ptr<int> value = std::move(outcome).value();
  CHECK(*value == 7);
}

TEST_CASE("an attempt keeps an Error, and its value throws it") {
  const Outcome<int> outcome =
      attempt([]() -> int { throw Error(ErrorKind::capacity, "no room"); });

  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().kind() == ErrorKind::capacity);
  CHECK_THROWS_WITH_AS(outcome.value(), "no room", Error);
}

TEST_CASE("an attempt without a result is a success unless it throws") {
  CHECK(attempt([] {}).ok());
  CHECK_FALSE(attempt([] { throw Error(ErrorKind::local, "broken"); }).ok());
}

TEST_CASE("an exception that is not an Error passes an attempt") {
  CHECK_THROWS_AS(attempt([] { throw std::logic_error("no Error"); }), std::logic_error);
}

}  // namespace
}  // namespace fastgpu
