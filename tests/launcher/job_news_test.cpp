#include "launcher/job_news.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "launcher/job_report.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;

/// Counts the reports of launchers that stay.
struct StayObserver final : JobObserver {
  void output(int, agent::OutputStream, std::string_view) override {}
  void launcher_stays(const NodeName& first, std::chrono::milliseconds) override {
    stays.push_back(first.value);
  }
  std::vector<std::string> stays;
};

TEST_SUITE_BEGIN("launcher/job_news");

TEST_CASE("a launcher that does not end after its last rank is reported, once") {
  const std::vector<NodeRanks> placement = {{{"demo-0"}, 0, 1}, {{"demo-1"}, 1, 1}};
  const FollowingOptions options{.supervisor = NodeName{"demo-0"}};
  std::vector<FollowedNode> nodes;
  for (const NodeRanks& ranks : placement)
    nodes.push_back({.host = {.name = ranks.node}, .ranks = ranks});
  StayObserver seen;
  JobNews news(options, placement, seen, {});
  const auto end = [&](int rank) {
    const std::string text = to_text(test::rank_end(rank, 0, 0, 1, false));
    news.take(nodes[static_cast<std::size_t>(rank)],
              {.kind = agent::FrameKind::rank_status, .rank = rank}, text);
  };
  const std::chrono::steady_clock::time_point begin{};
  end(0);
  news.look_at_launcher(begin);
  news.look_at_launcher(begin + 1h);  // The other rank runs.
  CHECK(seen.stays.empty());
  end(1);
  news.look_at_launcher(begin + 2h);
  news.look_at_launcher(begin + 2h + 9s);
  CHECK(seen.stays.empty());
  news.look_at_launcher(begin + 2h + 10s);
  news.look_at_launcher(begin + 3h);
  CHECK(seen.stays == std::vector<std::string>{"demo-0"});
}

TEST_CASE("a launcher that ends soon after its last rank is not reported") {
  const std::vector<NodeRanks> placement = {{{"demo-0"}, 0, 1}};
  const FollowingOptions options{.supervisor = NodeName{"demo-0"}};
  FollowedNode node{.host = {.name = {"demo-0"}}, .ranks = placement[0]};
  StayObserver seen;
  JobNews news(options, placement, seen, {});
  news.take(node, {.kind = agent::FrameKind::rank_status, .rank = 0},
            to_text(test::rank_end(0, 0, 0, 1, false)));
  news.look_at_launcher({});
  news.take(node, {.kind = agent::FrameKind::job_status, .rank = agent::kLauncherRank},
            to_text(test::job_end(0)));
  news.look_at_launcher(std::chrono::steady_clock::time_point{} + 1h);
  CHECK(seen.stays.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
