// The prefixes that a cluster has used on a node, as the agent reports them.
#include <doctest/doctest.h>

#include "support/agent_process.hpp"

namespace fastgpu {
namespace {

using test::run_agent;
using test::ScratchHome;

constexpr const char* kCluster = "0badcafe";

std::string status_for(const ScratchHome& home, const std::string& cluster) {
  const auto done = run_agent(home, {"env-status", "--cluster", cluster});
  CHECK_MESSAGE(done.status.ok(), done.err);
  return done.out;
}

std::string record_of(const std::filesystem::path& prefix) {
  return '\0' + std::string("used_prefix=") + prefix.string() + '\0';
}

TEST_SUITE_BEGIN("agent/used_prefixes");

TEST_CASE("a prefix is reported to its cluster, as long as it exists") {
  const ScratchHome home;
  const auto prefix = home.path() / "envs";
  for (int i = 0; i < 2; ++i) {
    const auto made = run_agent(
        home, {"env-status", "--prepare", "train", "--cluster", kCluster, prefix.string()});
    CHECK_MESSAGE(made.status.ok(), made.err);
  }
  const std::string status = status_for(home, kCluster);
  const auto at = status.find(record_of(prefix));
  REQUIRE(at != status.npos);
  CHECK(status.find(record_of(prefix), at + 1) == status.npos);
  CHECK(status_for(home, "c0ffee00").find("used_prefix") == std::string::npos);
  CHECK(run_agent(home, {"env-remove", prefix.string()}).status.ok());
  CHECK(status_for(home, kCluster).find("used_prefix") == std::string::npos);
}

TEST_CASE("what is not the identity of a cluster is refused") {
  const ScratchHome home;
  CHECK(run_agent(home, {"env-status", "--cluster", "../.."}).status.code != 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
