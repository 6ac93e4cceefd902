#include "cli/commands/env/found_environments.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/found_environments");

agent::EnvironmentStatus status_in(const std::string& prefix,
                                   const std::vector<agent::FoundVersion>& versions) {
  agent::EnvironmentStatus status;
  status.prefix = prefix;
  status.active = "train";
  status.versions = versions;
  return status;
}

const agent::FoundVersion kCompleteBuild{"train", "v1", "spec", "manifest", true};
const agent::FoundVersion kOtherBuild{"train", "v2", "spec", "manifest", true};
const agent::FoundVersion kPartialBuild{"train", "v1", "", "", false};
const NodeName kFirstNode{"loc-0"};
const NodeName kSecondNode{"loc-1"};

TEST_CASE("the same name under two prefixes is two environments") {
  FoundEnvironments found;
  found.add(kFirstNode, status_in("/p", {kCompleteBuild}));
  found.add(kSecondNode, status_in("/p", {kCompleteBuild}));
  found.add(kFirstNode, status_in("/q", {kOtherBuild}));
  found.add(kSecondNode, status_in("/q", {kPartialBuild}));

  REQUIRE(found.all().size() == 2);
  const FoundEnvironment& in_p = found.all().at({"train", "/p"});
  CHECK(in_p.nodes == std::vector<std::string>{"loc-0", "loc-1"});
  CHECK(in_p.active_on == 2);
  CHECK(state_of(in_p, 2) == "complete");
  const FoundEnvironment& in_q = found.all().at({"train", "/q"});
  CHECK(in_q.nodes == std::vector<std::string>{"loc-0"});
  CHECK(in_q.version == "v2");
  CHECK(state_of(in_q, 2) == "partial");
}

TEST_CASE("a node that reports twice about a prefix is counted once") {
  FoundEnvironments found;
  CHECK(found.reports_of("/p") == 0);
  found.add(kFirstNode, status_in("/p", {kCompleteBuild}));
  found.add(kFirstNode, status_in("/p", {kCompleteBuild}));

  CHECK(found.reports_of("/p") == 1);
  const FoundEnvironment& only = found.all().at({"train", "/p"});
  CHECK(only.nodes == std::vector<std::string>{"loc-0"});
  CHECK(only.active_on == 1);
}

TEST_CASE("builds that are not the same differ") {
  FoundEnvironments found;
  found.add(kFirstNode, status_in("/p", {kCompleteBuild}));
  found.add(kSecondNode, status_in("/p", {kOtherBuild}));
  CHECK(state_of(found.all().at({"train", "/p"}), 2) == "differs");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
