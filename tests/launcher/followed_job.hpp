// A job on two nodes that is followed: what its nodes answer, and what an observer has seen.
#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fakes/fake_ssh.hpp"
#include "launcher/following.hpp"
#include "launcher/frame_text.hpp"
#include "launcher/mpirun_engine.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher::followed {

using agent::FrameKind;
using agent::OutputStream;
using test::failure_of;
using test::FakeReply;
using test::FakeSsh;
using test::frame;

inline std::string data(int rank, const std::string& bytes) {
  return frame({.kind = FrameKind::data, .rank = rank}, bytes);
}

inline std::string rank_status(int rank, int said = -1) {
  agent::RankEnd end;
  end.rank = said < 0 ? rank : said;
  return frame({.kind = FrameKind::rank_status, .rank = rank}, to_text(end));
}

inline std::string job_status() {
  return frame({.kind = FrameKind::job_status}, to_text(agent::JobEnd{}));
}

inline std::string last() {
  return frame({.kind = FrameKind::end}, "");
}

struct Recorder final : JobObserver {
  void output(int rank, OutputStream, std::string_view bytes) override {
    ++pieces;
    logs[rank] += bytes;
    order += bytes;
  }
  void written_at(int, OutputStream, std::int64_t) override { ++times; }
  void backlog_begins() override { order += "("; }
  void backlog_ended() override { order += ")"; }
  void rank_ended(const agent::RankEnd& end, const NodeName&) override { ended.insert(end.rank); }
  void disk_full(const NodeName& node, const std::string& path) override {
    full.push_back(node.value + ":" + path);
  }
  std::map<int, std::string> logs;
  std::string order;  ///< All output as it came, in brackets what was there before.
  std::set<int> ended;
  std::vector<std::string> full;
  int pieces = 0;
  int times = 0;
};

/// Two nodes with two ranks each; what they answer to job-follow.
struct FollowedJob {
  explicit FollowedJob(std::string first, std::string second)
      : client([this](const FakeSsh::Seen& asked) -> FakeReply {
          if (asked.command.find("job-follow") == std::string::npos) return {};
          if (when_asked) when_asked(asked.host);
          if (const auto failure = failures.find(asked.host); failure != failures.end())
            return {.failure = failure->second};
          return {.out = asked.host == "n-0" ? answers[0] : answers[1]};
        }),
        answers{std::move(first), std::move(second)} {}

  Following following(FollowingOptions options = {}) {
    return {client, {{.name = {"n-0"}}, {.name = {"n-1"}}}, kPlacement, commands, options, seen};
  }
  Error refused() {
    const Cancel never;
    Following one = following();
    return failure_of([&] { one.run(never); });
  }

  const std::vector<NodeRanks> kPlacement = {{{"n-0"}, 0, 2}, {{"n-1"}, 2, 2}};
  NodeCommands commands{{"0123456789abcdef"}, "train-1"};
  FakeSsh client;
  std::vector<std::string> answers;
  std::map<std::string, Error> failures{};                    ///< The nodes that cannot be reached.
  std::function<void(const std::string& host)> when_asked{};  ///< Called before each answer.
  Recorder seen;
};

inline JobRecord record_of(const FollowedJob& world, Leftovers leftovers) {
  return {.spec = {.name = {"train"}, .argv = {"x"}, .leftovers = leftovers},
          .placement = world.kPlacement};
}

/// Returns the engine mpirun for the nodes of a world.
inline std::unique_ptr<JobEngine> engine_of(FollowedJob& world) {
  const test::TempDirectory directory;
  const auto program = directory.path() / "agent";
  std::ofstream(program) << "the program";
  std::vector<ClusterNode> nodes(2);
  nodes[0].host.name = {"n-0"};
  nodes[1].host.name = {"n-1"};
  return make_mpirun_engine(world.client, nodes, {"c0ffee00", Secret("none")},
                            {.agent = remote::read_agent_program(program)});
}

/// Follows job train-1 of a world by the engine mpirun.
inline JobOutcome follow_job(FollowedJob& world, OnCancel on_cancel,
                             Leftovers leftovers = Leftovers::ended) {
  const Cancel never;
  return engine_of(world)->follow("train-1", record_of(world, leftovers), on_cancel, {}, world.seen,
                                  never);
}

/// Returns how many commands of that name a world has got.
inline std::ptrdiff_t commands_for(const FollowedJob& world, const std::string& word) {
  return std::ranges::count_if(world.client.seen, [&](const FakeSsh::Seen& seen) {
    return seen.command.find(word) != std::string::npos;
  });
}

}  // namespace fastgpu::launcher::followed
