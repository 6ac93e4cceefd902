// The prefixes that a command on environments visits.
#include "cli/commands/env/prefix_queue.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

agent::EnvironmentStatus status_with(std::vector<std::string> used) {
  agent::EnvironmentStatus status;
  status.used_prefixes = std::move(used);
  return status;
}

TEST_SUITE_BEGIN("cli/prefix_queue");

TEST_CASE("prefixes that nodes report are visited once each, after the known ones") {
  PrefixQueue prefixes({"", "/own"}, Reported::visited);
  CHECK(prefixes.next() == "");
  prefixes.add(status_with({"/own", "/theirs", "relative"}));
  prefixes.add(status_with({"/theirs"}));
  CHECK(prefixes.next() == "/own");
  CHECK(prefixes.next() == "/theirs");
  CHECK_FALSE(prefixes.next().has_value());
  prefixes.add(status_with({"/late"}));
  CHECK(prefixes.next() == "/late");
}

TEST_CASE("beside a prefix that the user gave no other is visited") {
  PrefixQueue prefixes({"/own"}, Reported::ignored);
  prefixes.add(status_with({"/theirs"}));
  CHECK(prefixes.next() == "/own");
  CHECK_FALSE(prefixes.next().has_value());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
