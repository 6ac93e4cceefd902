#include "launcher/job_news.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
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

TEST_CASE("a launcher that is silent for the hang timeout after its ranks ends the following") {
  const std::vector<NodeRanks> placement = {{{"demo-0"}, 0, 1}};
  FollowedNode node{.host = {.name = {"demo-0"}}, .ranks = placement[0]};
  StayObserver seen;
  for (const auto timeout : {0min, 10min}) {
    CAPTURE(timeout.count());
    const FollowingOptions options{.supervisor = NodeName{"demo-0"}, .hang_timeout = timeout};
    int hangs = 0;
    JobNews news(options, placement, seen, {.when_hanging = [&] { ++hangs; }});
    const std::chrono::steady_clock::time_point begin{};
    const auto write = [&](int rank) {
      news.take(node,
                {.kind = agent::FrameKind::data, .stream = agent::OutputStream::out, .rank = rank},
                "a line\n");
    };
    write(agent::kLauncherRank);
    news.look_at_launcher(begin);
    news.take(node, {.kind = agent::FrameKind::rank_status, .rank = 0},
              to_text(test::rank_end(0, 0, 0, 1, false)));
    news.look_at_launcher(begin + 1h);
    // A program that a rank has started by MPI_Comm_spawn goes on.
    write(agent::kLauncherRank);
    news.look_at_launcher(begin + 1h + 9min);
    news.look_at_launcher(begin + 1h + 18min);
    CHECK(hangs == 0);
    news.look_at_launcher(begin + 1h + 19min);
    news.look_at_launcher(begin + 1h + 20min);
    const bool has_timeout = timeout.count() > 0;
    CHECK(hangs == (has_timeout ? 1 : 0));
    CHECK(news.launcher_stayed() == has_timeout);
    JobReport report;
    news.add_to(report);
    CHECK(report.launcher_stayed == has_timeout);
  }
}

TEST_CASE("the times of a node with another clock are on ours: of ranks, and of the launcher") {
  const std::vector<NodeRanks> placement = {{{"demo-0"}, 0, 1}};
  const FollowingOptions options{.supervisor = NodeName{"demo-0"}};
  FollowedNode node{.host = {.name = {"demo-0"}}, .ranks = placement[0]};
  StayObserver seen;
  JobNews news(options, placement, seen, {});
  const std::int64_t now =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::int64_t ahead = std::chrono::nanoseconds(5min).count();
  agent::RankEnd rank = test::rank_end(0, 0, 0, now + ahead - 7'000'000'000, false);
  rank.began = now + ahead - 9'000'000'000;
  rank.sent = now + ahead;
  agent::JobEnd launcher = test::job_end(0);
  launcher.ended = now + ahead - 6'000'000'000;
  news.take(node, {.kind = agent::FrameKind::rank_status, .rank = 0}, to_text(rank));
  news.take(node, {.kind = agent::FrameKind::job_status, .rank = agent::kLauncherRank},
            to_text(launcher));

  JobReport report;
  news.add_to(report);

  const agent::RankEnd& seen_rank = report.ranks[0];
  CHECK(seen_rank.began > now - 60'000'000'000);
  CHECK(seen_rank.began < now);
  CHECK(seen_rank.ended - seen_rank.began == 2'000'000'000);
  CHECK(report.launcher->ended - seen_rank.ended == 1'000'000'000);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
