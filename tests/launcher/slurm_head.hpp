// A head node with Slurm, for the tests of its engine.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "fakes/fake_ssh.hpp"
#include "launcher/frame_text.hpp"
#include "launcher/slurm_engine.hpp"
#include "launcher/slurm_script.hpp"

namespace fastgpu::launcher {

inline bool asks_for(const test::FakeSsh::Seen& asked, const std::string& action) {
  return asked.command.find(" sh " + action + " ") != std::string::npos;
}

/// A head node whose Slurm answers from the fields. Both clients of the engine see it.
struct SlurmHead {
  std::string state{"scontrol\nJobId=7 JobState=COMPLETED ExitCode=0:0 NodeList=n1\n"};
  ssh::Exit state_exit{};
  int waits_in_vain{0};                      ///< The waits for the job's end that come before that.
  std::vector<std::string> seen_by_waits{};  ///< What the first of these have seen of the job.
  std::string state_error{};
  ssh::Exit submit_exit{};
  std::string submit_answer{"7\n"};
  std::string submit_error{};
  ssh::Exit cancel_exit{};
  std::string cancel_answer{};
  int lost_answers{0};  ///< The answers that are lost, from that to the submission on.
  std::string test_answer{"sbatch: Job 7 to start\n"};
  std::string frames{};  ///< What job-follow sends.
  std::string frames_of_others{};
  std::mutex mutex{};
  std::vector<std::string> actions{};
  std::string noted{};  ///< The end that was written.
  std::string submitted{};
  std::vector<ClusterNode> others{};
  std::map<std::string, std::string> put_on{};  ///< The names of the files, by host.
  std::set<std::string> forgotten_on{};
  std::set<std::string> followed_on{};
  bool knows_nodes{true};  ///< A job is submitted whatever the mark of its nodes is.
  std::string mark_of_nodes{};
  std::string homes_seen{"login\n"};  ///< The nodes whose files are in the head's home directory.
  ssh::Exit exit_of_others{};
  std::chrono::milliseconds before_first_look{1};

  test::FakeReply answer(const test::FakeSsh::Seen& asked) {
    const std::scoped_lock lock(mutex);
    if (asked.command.find("job-follow") != std::string::npos) {
      followed_on.insert(asked.host);
      if (asked.host == "login") return {.out = noted_frame() + frames};
      return {.exit = exit_of_others, .out = frames_of_others};
    }
    if (asked.command.find("put-files") != std::string::npos) {
      if (asked.host == "login" && asked.input.find("/batch\n") != std::string::npos)
        submitted = asked.input;
      put_on[asked.host] += "";
      for (const agent::SmallFile& file : agent::decode_files(asked.input)) {
        put_on[asked.host] += file.name + " ";
        if (file.name == kPreparedNodes) mark_of_nodes = file.content;
      }
      return {.out = to_text(agent::JobNodeFacts())};
    }
    if (asked.command.starts_with("ls .fastgpu/slurm-homes/")) return {.out = homes_seen};
    for (const char* action : {"state", "await", "submit", "cancel", "end", "test"})
      if (asks_for(asked, action)) actions.emplace_back(action);
    if (!actions.empty() && actions.front() == "submit" && lost_answers-- > 0)
      return {.failure = Error(ErrorKind::transient, "login: the connection was lost")};
    if (asks_for(asked, "await") && waits_in_vain-- > 0) {
      if (seen_by_waits.empty()) return {.exit = {.status = 6}};
      const std::string seen = "scontrol\nJobId=7 " + seen_by_waits.front() + " ExitCode=0:0\n";
      seen_by_waits.erase(seen_by_waits.begin());
      return {.exit = {.status = 6}, .out = seen};
    }
    if (asks_for(asked, "state") || asks_for(asked, "await"))
      return {.exit = state_exit, .out = state, .err = state_error};
    const bool has_mark =
        !mark_of_nodes.empty() && asked.command.find(mark_of_nodes) != std::string::npos;
    if (asks_for(asked, "submit") && !knows_nodes && !has_mark) return {.exit = {.status = 8}};
    if (asks_for(asked, "submit"))
      return {.exit = submit_exit, .out = submit_answer, .err = submit_error};
    if (asks_for(asked, "cancel")) return {.exit = cancel_exit, .out = cancel_answer};
    if (asks_for(asked, "forget")) forgotten_on.insert(asked.host);
    if (asks_for(asked, "end")) noted = asked.input;
    if (asks_for(asked, "test")) return {.exit = submit_exit, .out = test_answer};
    return {};
  }

  std::string noted_frame() const {
    return noted.empty() ? "" : test::frame({.kind = agent::FrameKind::job_status}, noted);
  }

  test::FakeSsh client{[this](const test::FakeSsh::Seen& asked) { return answer(asked); }};
  std::unique_ptr<JobEngine> engine = make_slurm_engine(
      client, std::make_unique<test::FakeSsh>([this](const test::FakeSsh::Seen& asked) {
        return answer(asked);
      }),
      SlurmSite{.head = {.host = {.name = {"login"}}, .peer = {}}, .others = others},
      RunnerOptions{.agent = {.file = {}, .hash = {"0123456789abcdef"}}},
      SlurmTimes{.before_first_look = before_first_look,
                 .before_next_try = std::chrono::milliseconds(1),
                 .controller_timeout = std::chrono::milliseconds(20)});
};

inline JobRecord job_of_two() {
  JobRecord job;
  job.spec.name = {"train"};
  job.spec.argv = {"./train"};
  job.spec.environment = {"TOKEN=hunter2"};
  job.spec.engine = EngineKind::slurm;
  job.spec.ranks = 2;
  job.placement = {{.node = {"login"}, .first = 0, .count = 2}};
  job.engine_job.id = "7";
  return job;
}

inline std::string end_of_rank(int rank, int code) {
  agent::RankEnd end;
  end.rank = rank;
  end.host = "n1";
  end.how.code = code;
  end.ended = rank + 1;
  return test::frame({.kind = agent::FrameKind::rank_status, .rank = rank}, to_text(end));
}

struct Quiet final : JobObserver {
  void output(int, agent::OutputStream, std::string_view) override {}
};

}  // namespace fastgpu::launcher
