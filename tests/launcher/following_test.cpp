#include "launcher/following.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "fakes/fake_ssh.hpp"
#include "launcher/followed_job.hpp"
#include "launcher/frame_text.hpp"
#include "launcher/glance.hpp"
#include "launcher/mpirun_engine.hpp"
#include "launcher/node_refusal.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher {
namespace {

using agent::FrameKind;
using agent::OutputStream;
using followed::data;
using followed::engine_of;
using followed::FollowedJob;
using followed::job_status;
using followed::last;
using followed::rank_status;
using followed::record_of;
using followed::Recorder;
using test::failure_of;
using test::FakeReply;
using test::FakeSsh;
using test::frame;

TEST_SUITE_BEGIN("launcher/following");

/// A world of which the second node has the agent of another version of fastgpu alone.
struct UpgradedJob {
  UpgradedJob()
      : client([this](const FakeSsh::Seen& asked) -> FakeReply {
          if (asked.command.find("job-follow") != std::string::npos) {
            if (asked.host == "n-0" || has_agent)
              return {.out = asked.host == "n-0"
                                 ? data(0, "a") + rank_status(0) + job_status() + last()
                                 : data(1, "b") + rank_status(1) + last()};
            return {.exit = {.status = 127},
                    .err = "fastgpu-agent-" + agent.hash.value + " is missing or empty\n"};
          }
          ++installed;
          if (refusal) return {.failure = *refusal};
          has_agent = has_agent || comes;
          return {};
        }) {}

  Following following() {
    return {client,
            {{.name = {"n-0"}}, {.name = {"n-1"}}},
            {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}},
            {agent.hash, "train-1"},
            {.agent = agent},
            seen};
  }

  test::TempDirectory directory;
  remote::AgentProgram agent = [this] {
    std::ofstream(directory.path() / "agent") << "the program";
    return remote::read_agent_program(directory.path() / "agent");
  }();
  bool has_agent = false;
  bool comes = true;  ///< The installation brings it.
  std::optional<Error> refusal{};
  int installed = 0;
  FakeSsh client;
  Recorder seen;
};

TEST_CASE("a node without this version's agent gets it, and is followed") {
  const Cancel never;
  UpgradedJob world;
  Following one = world.following();
  SUBCASE("to the end") {
    one.run(never);
  }
  SUBCASE("as far as there is something") {
    one.read_all(never);
  }
  SUBCASE("at a glance") {
    one.catch_up(std::chrono::seconds(10));
  }
  CHECK(world.installed == 1);
  CHECK(world.seen.logs[0] == "a");
  CHECK(world.seen.logs[1] == "b");
  CHECK(one.report().launcher.has_value());
  CHECK(one.report().ranks.size() == 2);
}

TEST_CASE("an agent that cannot be installed, or does not help, is an error") {
  const Cancel never;
  UpgradedJob world;
  SUBCASE("no room") {
    world.refusal = Error(ErrorKind::capacity, "no space left");
    const Error error = failure_of([&] { world.following().read_all(never); });
    CHECK(error.kind() == ErrorKind::capacity);
    CHECK(std::string(error.what()).starts_with("n-1: "));
  }
  SUBCASE("still missing") {
    world.comes = false;
    const Error error = failure_of([&] { world.following().read_all(never); });
    CHECK(std::string(error.what()).find("is missing or empty") != std::string::npos);
    CHECK(world.installed == 1);
  }
}

/// Three nodes, of which the last two have no folder of the job any more.
struct RemovedJob {
  Following following() {
    return {client,
            {{.name = {"n-0"}}, {.name = {"n-1"}}, {.name = {"n-2"}}},
            {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}, {{"n-2"}, 2, 1}},
            {{"0123456789abcdef"}, "train-1"},
            {},
            seen};
  }

  FakeSsh client{[](const FakeSsh::Seen& asked) -> FakeReply {
    if (asked.host == "n-0") return {.out = data(0, "a") + rank_status(0) + job_status() + last()};
    return {.exit = {.status = 127}, .err = "/root/x: its folder was removed\n"};
  }};
  Recorder seen;
};

/// Returns the refusal that the function throws.
template <class Function>
NodeRefusal refusal_of(const Function& function) {
  try {
    function();
  } catch (const NodeRefusal& refusal) {
    return refusal;
  }
  throw std::runtime_error("no node refused");
}

TEST_CASE("the nodes that have no such job any more are named by the error's type") {
  const Cancel never;
  RemovedJob world;
  Following one = world.following();
  SUBCASE("where all output is read") {
    const NodeRefusal refusal = refusal_of([&] { one.read_all(never); });
    CHECK(refusal.kind() == ErrorKind::not_found);
    CHECK(refusal.nodes() == std::vector<NodeName>{{"n-1"}, {"n-2"}});
    CHECK(std::string(refusal.what()) == "n-1: /root/x: its folder was removed");
  }
  SUBCASE("where an ended job is followed, whose outcome does not need them") {
    CHECK_NOTHROW(one.run(never));
    CHECK(one.report().launcher.has_value());
    CHECK(refusal_of([&] { one.require_answers(); }).nodes() ==
          std::vector<NodeName>{{"n-1"}, {"n-2"}});
  }
  CHECK(world.seen.logs[0] == "a");
}

TEST_CASE("a node whose agent cannot be installed may have the job all the same") {
  UpgradedJob world;
  world.refusal = Error(ErrorKind::transient, "the connection was lost");
  FollowingOptions options;
  options.agent = world.agent;
  options.supervisor = NodeName{"n-1"};
  const JobReport report = glance_at_nodes(
      world.client, {{.name = {"n-0"}}, {.name = {"n-1"}}}, {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}},
      {world.agent.hash, "train-1"}, std::chrono::seconds(10), options);
  CHECK_FALSE(report.is_unknown);
}

TEST_CASE("each node speaks for its own ranks, and the first one for the job") {
  FollowedJob world(
      data(0, "a") + data(-1, "mpirun's") + rank_status(0) + rank_status(1) + job_status() + last(),
      data(2, "b") + data(3, "c") + rank_status(2) + rank_status(3) + last());
  const Cancel never;
  Following following = world.following();
  following.run(never);
  CHECK(following.report().launcher.has_value());
  CHECK(following.report().ranks.size() == 4);
  CHECK(world.seen.logs ==
        std::map<int, std::string>{{-1, "mpirun's"}, {0, "a"}, {2, "b"}, {3, "c"}});
}

TEST_CASE("what is not a node's to send is refused, with its name, and reaches nobody") {
  struct Case {
    std::string sent;
    std::string said;
  };
  const std::vector<Case> cases = {
      {data(0, "forged"), "n-1: sends output of rank 0, which does not run there"},
      {data(4, "forged"), "n-1: sends output of rank 4, which does not run there"},
      {data(1 << 20, "forged"), "n-1: sends output of rank 1048576, which does not run there"},
      {data(-1, "forged"), "n-1: sends output of mpirun, which runs on n-0"},
      {rank_status(0), "n-1: sends the end of rank 0, which does not run there"},
      {rank_status(1 << 20), "n-1: sends the end of rank 1048576, which does not run there"},
      {rank_status(-1, 2), "n-1: sends the end of rank -1, which does not run there"},
      {rank_status(2, 0), "n-1: sends the end of rank 0 as that of rank 2"},
      {job_status(), "n-1: sends the end of the job, which only n-0 reports"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.said);
    FollowedJob world(last(), data(2, "own") + one.sent + data(3, "later") + last());
    const Error e = world.refused();
    CHECK(e.kind() == ErrorKind::denied);
    CHECK(std::string(e.what()).starts_with(one.said));
    CHECK(world.seen.logs == std::map<int, std::string>{{2, "own"}});
    CHECK(world.seen.ended.empty());
  }
}

TEST_CASE("a flood of ranks that do not exist ends at the first, and costs no memory") {
  std::string flood;
  for (int rank = 4; rank < 20'000; ++rank)
    flood += data(rank, "x");
  FollowedJob world(last(), flood);
  CHECK(world.refused().kind() == ErrorKind::denied);
  CHECK(world.seen.pieces == 0);
}

TEST_CASE("the first node cannot speak for the ranks of another either") {
  FollowedJob world(data(2, "forged") + job_status() + last(), last());
  CHECK(std::string(world.refused().what()).starts_with("n-0: sends output of rank 2"));
}

TEST_CASE("without data, the launcher's last words are known and the observer gets no output") {
  const std::string words = "mpirun has exited due to process rank 1";
  FollowedJob world(
      frame({.kind = FrameKind::written_at, .rank = -1, .offset = 7}, "") +
          frame({.kind = FrameKind::data, .stream = OutputStream::err, .rank = -1}, words + "\n") +
          job_status() + last(),
      rank_status(2) + rank_status(3) + last());
  const Cancel never;
  Following following = world.following({.data = false});
  following.run(never);
  CHECK(following.report().launcher_tail == words);
  CHECK(world.seen.pieces == 0);
  CHECK(world.seen.times == 0);
  CHECK(world.client.seen.front().command.find("--no-data") != std::string::npos);
  const JobReport glance =
      glance_at_nodes(world.client, {{.name = {"n-0"}}, {.name = {"n-1"}}}, world.kPlacement,
                      world.commands, std::chrono::seconds(1));
  CHECK(glance.launcher_tail == words);
}

TEST_CASE("a part of the nodes can be read without the one that has the supervisor") {
  FollowedJob world("", data(2, "b") + last());
  FollowingOptions options;
  options.supervisor = NodeName{"n-0"};
  const Cancel never;
  const std::vector<NodeRanks> part = {{{"n-1"}, 2, 2}};
  Following one(world.client, {{.name = {"n-1"}}}, part, world.commands, options, world.seen);
  one.read_all(never);
  CHECK(world.seen.logs.at(2) == "b");
  world.answers[1] = job_status() + last();
  CHECK(failure_of([&] { one.read_all(never); }).kind() == ErrorKind::denied);
}

/// Two nodes whose ranks have written something before they are followed.
struct JobWithBacklog {
  Following following() {
    FollowingOptions options;
    options.backlog_first = true;
    return {client, {{.name = {"n-0"}}, {.name = {"n-1"}}}, placement, commands, options, seen};
  }
  FakeReply answer(const FakeSsh::Seen& asked) {
    const int rank = asked.host == "n-0" ? 0 : 1;
    const std::string name = rank == 0 ? "a" : "b";
    if (asked.command.find("job-follow") == std::string::npos) return {};
    if (known.insert(rank).second) {
      times_asked += asked.command.find("--times") != std::string::npos ? 1 : 0;
      if (failure && rank == 1) return {.failure = *failure};
      return {.out = data(rank, name + name) + last()};
    }
    offsets += asked.input.substr(0, asked.input.find('\0'));
    const std::string end = rank == 0 ? job_status() : "";
    return {.out = data(rank, name) + rank_status(rank) + end + last()};
  }

  const std::vector<NodeRanks> placement = {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}};
  NodeCommands commands{{"0123456789abcdef"}, "train-1"};
  FakeSsh client{[this](const FakeSsh::Seen& asked) { return answer(asked); }};
  std::optional<Error> failure{};  ///< The reason why the second node is not reached at first.
  std::set<int> known{};           ///< Ranks whose nodes were asked for what is there already.
  int times_asked = 0;
  std::string offsets{};
  Recorder seen;
};

TEST_CASE("output that is there already is read from all nodes, with its times, before the rest") {
  JobWithBacklog world;
  const Cancel never;
  SUBCASE("and the rest from where it ended") {
    world.following().run(never);
    CHECK(world.seen.order.starts_with("(aabb)a"));
    CHECK(world.seen.logs.at(1) == "bbb");
    CHECK(world.times_asked == 2);
    CHECK(world.offsets.starts_with("0.out=2"));
  }
  SUBCASE("and a node that does not answer then is followed all the same") {
    world.failure = Error(ErrorKind::transient, "no route to host");
    world.following().run(never);
    CHECK(world.seen.order.starts_with("(aa)a"));
    CHECK(world.seen.logs.at(1) == "b");
  }
  SUBCASE("and as such if nothing is followed") {
    world.following().read_all(never);
    CHECK(world.seen.order == "(aabb)");
    CHECK(world.times_asked == 2);
  }
}

TEST_CASE("thousands of logs that go on make no longer command line") {
  std::vector<NodeRanks> placement = {{{"n-0"}, 0, 5'000}};
  FollowedJob world("", "");
  for (int rank = 0; rank < 5'000; ++rank)
    world.answers[0] += data(rank, "x");
  world.answers[0] += last();
  Following one(world.client, {{.name = {"n-0"}}}, placement, world.commands, {}, world.seen);
  one.catch_up(std::chrono::seconds(1));
  one.catch_up(std::chrono::seconds(1));
  REQUIRE(world.client.seen.size() == 2);
  CHECK(world.client.seen[0].input.empty());
  CHECK(world.client.seen[1].command.size() < 1'000);
  CHECK(world.client.seen[1].command.find("--from-input") != std::string::npos);
  CHECK(world.client.seen[1].input.starts_with(std::string("0.out=1\0", 8)));
  CHECK(world.client.seen[1].input.ends_with(std::string("\0\0", 2)));
}

TEST_CASE("a full disk is told once for each node") {
  agent::RankEnd end;
  end.full = "/root/.fastgpu/jobs/train-1/ranks";
  const auto status = [&](int rank) {
    end.rank = rank;
    return frame({.kind = FrameKind::rank_status, .rank = rank}, to_text(end));
  };
  FollowedJob world(status(0) + status(1) + job_status() + last(),
                    status(2) + rank_status(3) + last());
  const Cancel never;
  Following following = world.following();
  following.run(never);
  CHECK(world.seen.full == std::vector<std::string>{"n-0:" + end.full, "n-1:" + end.full});
  const JobReport report = following.report();
  REQUIRE(report.full_disks.size() == 2);
  CHECK(report.full_disks[1].node.value == "n-1");
  CHECK(report.full_disks[1].path == end.full);
}

TEST_CASE("a disk that is full while the job runs is told at once, and once") {
  agent::RankEnd end;
  end.full = "/jobs/train-1/ranks";
  end.rank = 2;
  const std::string full = frame({.kind = FrameKind::full_disk}, end.full);
  const std::string status = frame({.kind = FrameKind::rank_status, .rank = 2}, to_text(end));
  FollowedJob world(last(), full + full + data(2, "x") + status + last());
  const Cancel never;
  Following following = world.following();
  following.catch_up(std::chrono::seconds(1));
  CHECK(world.seen.full == std::vector<std::string>{"n-1:" + end.full});
}

TEST_CASE("a first node that is not reached any more is lost, with the reason") {
  agent::RankEnd end;
  end.told = true;
  const auto told = [&](int rank) {
    end.rank = rank;
    return frame({.kind = FrameKind::rank_status, .rank = rank}, to_text(end));
  };
  const Error silence(ErrorKind::timeout, "n-0: no sign of life for 6s");
  FollowedJob world("", told(2) + told(3) + last());
  world.failures.insert({"n-0", silence});
  FollowingOptions options;
  options.lost_after = std::chrono::milliseconds(600);
  const Cancel never;
  Following following = world.following(options);
  following.run(never);
  REQUIRE(following.report().lost.size() == 1);
  CHECK(following.report().lost.front().node.value == "n-0");
  CHECK(following.report().lost.front().why == silence.what());
}

TEST_CASE("a node that does not answer is lost at once if the records have it that it is gone") {
  FollowedJob world("", "");
  world.failures.insert({"n-0", Error(ErrorKind::timeout, "n-0: no route to host")});
  FollowingOptions options;
  options.lost_after = std::chrono::hours(1);
  int asked = 0;
  options.are_nodes_gone = [&asked] { return ++asked > 1; };
  const Cancel never;
  SUBCASE("by a follower") {
    Following following = world.following(options);
    following.run(never);
    CHECK(following.report().lost.size() == 1);
  }
  SUBCASE("by a reader of logs, which says so") {
    const LogRequest request{.mode = LogMode::follow, .are_nodes_gone = options.are_nodes_gone};
    const Error e = failure_of([&] {
      engine_of(world)->logs("train-1", record_of(world, Leftovers::ended), request, world.seen,
                             never);
    });
    CHECK(e.kind() == ErrorKind::transient);
    CHECK(std::string(e.what()) == "n-0: n-0: no route to host");
  }
  CHECK(asked == 2);
}

TEST_CASE("statuses of any length are kept short") {
  agent::RankEnd end;
  end.reason = std::string(10'000, 'x');
  end.host = std::string(5'000, 'h');
  CHECK(agent::parse_rank_end(to_text(end)).reason.size() == 1'024);
  CHECK(agent::parse_rank_end(to_text(end)).host.size() == 1'024);
  const std::string large = frame({.kind = FrameKind::rank_status, .rank = 2},
                                  std::string(agent::kLargestStatus + 1, 'x'));
  CHECK_FALSE(agent::decode_header(large).has_value());
  const std::string tail = frame({.kind = FrameKind::end}, "x");
  CHECK_FALSE(agent::decode_header(tail).has_value());
}

std::string idle_frame(int rank, bool is_idle = true) {
  return frame({.kind = FrameKind::idle, .rank = rank, .offset = is_idle ? 1U : 0U}, "");
}

TEST_CASE("a job hangs once all ranks that have not ended are idle on all nodes") {
  const FollowingOptions watches{.hang_timeout = std::chrono::minutes(1)};
  const Cancel never;
  FollowedJob hangs(idle_frame(0) + idle_frame(1) + last(),
                    rank_status(2) + idle_frame(3) + last());
  Following following = hangs.following(watches);
  following.run(never);
  CHECK(following.report().hanging == std::set<int>{0, 1, 3});
  CHECK_FALSE(following.report().launcher);
}

TEST_CASE("a rank that is active again does not hang, and a job that ends never does") {
  const FollowingOptions watches{.hang_timeout = std::chrono::minutes(1)};
  const Cancel never;
  const std::string active = idle_frame(0) + idle_frame(1) + idle_frame(0, false);
  FollowedJob ends(active + rank_status(0) + rank_status(1) + job_status() + last(),
                   idle_frame(2) + idle_frame(3) + last());
  Following following = ends.following(watches);
  following.run(never);
  CHECK(following.report().hanging.empty());
  CHECK(following.report().launcher);
  FollowedJob strange(idle_frame(2) + last(), last());
  CHECK(test::mentions(strange.refused(), "news of rank 2"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
