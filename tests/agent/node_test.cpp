#include <doctest/doctest.h>

#include "agent/protocol/facts.hpp"
#include "agent/protocol/records.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

using test::run_agent;
using test::ScratchHome;

TEST_SUITE_BEGIN("agent/node");

TEST_CASE("facts have what the launcher needs of a node") {
  const ScratchHome home;
  const JobNodeFacts facts = parse_node_facts(run_agent(home, {"facts"}).out);
  CHECK(facts.home == home.path().string());
  CHECK(facts.cores >= 1);
  CHECK(facts.boot_id.size() == 36);
  for (const std::string& address : facts.addresses) {
    CHECK(address.find('/') != std::string::npos);
    CHECK_FALSE(address.starts_with("127."));
  }
}

TEST_CASE("a listener that is there is reached, and what is not reached is named") {
  const ScratchHome home;
  CHECK(Records(run_agent(home, {"reach-nodes", "--", "127.0.0.1"}).out, "answer")
            .all("unreached")
            .empty());
  const auto lost =
      Records(
          run_agent(home, {"reach-nodes", "--ssh", "127.0.0.1:1", "--ssh", "no.such.host.:22"}).out,
          "answer")
          .all("unreached");
  REQUIRE(lost.size() == 2);
  CHECK(lost[0] == "no.such.host.:22 its name cannot be resolved");
  CHECK(lost[1] == "127.0.0.1:1 TCP port 1: Connection refused");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
