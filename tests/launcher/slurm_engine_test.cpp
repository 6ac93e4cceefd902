#include "launcher/slurm_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "fakes/fake_ssh.hpp"
#include "launcher/frame_text.hpp"
#include "launcher/slurm_script.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using agent::FrameKind;
using test::failure_of;
using test::FakeReply;
using test::FakeSsh;
using test::frame;

bool asks_for(const FakeSsh::Seen& asked, const std::string& action) {
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
  ssh::Exit exit_of_others{};
  std::chrono::milliseconds before_first_look{1};

  FakeReply answer(const FakeSsh::Seen& asked) {
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
    return noted.empty() ? "" : frame({.kind = FrameKind::job_status}, noted);
  }

  FakeSsh client{[this](const FakeSsh::Seen& asked) { return answer(asked); }};
  std::unique_ptr<JobEngine> engine = make_slurm_engine(
      client,
      std::make_unique<FakeSsh>([this](const FakeSsh::Seen& asked) { return answer(asked); }),
      SlurmSite{.head = {.host = {.name = {"login"}}, .peer = {}}, .others = others},
      RunnerOptions{.agent = {.file = {}, .hash = {"0123456789abcdef"}}},
      SlurmTimes{.before_first_look = before_first_look,
                 .before_next_try = std::chrono::milliseconds(1),
                 .controller_timeout = std::chrono::milliseconds(20)});
};

JobRecord job_of_two() {
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

std::string end_of_rank(int rank, int code) {
  agent::RankEnd end;
  end.rank = rank;
  end.host = "n1";
  end.how.code = code;
  end.ended = rank + 1;
  return frame({.kind = FrameKind::rank_status, .rank = rank}, to_text(end));
}

struct Quiet final : JobObserver {
  void output(int, agent::OutputStream, std::string_view) override {}
};

TEST_SUITE_BEGIN("launcher/slurm_engine");

TEST_CASE("a job's files are on the head before it is submitted, and its number is returned") {
  SlurmHead head;
  const Cancel never;
  bool was_prepared = false;
  const StartedRun begun = head.engine->start("train-1", job_of_two(), never, [&] {
    was_prepared = true;
    CHECK(head.actions.empty());
  });
  CHECK(begun.engine_id == "7");
  CHECK(begun.warning.empty());
  CHECK(was_prepared);
  CHECK(head.actions == std::vector<std::string>{"submit"});
  std::map<std::string, std::string> files;
  for (const agent::SmallFile& file : agent::decode_files(head.submitted))
    files[file.name] = file.content;
  CHECK(files.at("jobs/train-1/batch").find("#SBATCH --ntasks=2\n") != std::string::npos);
  CHECK(files.at("jobs/train-1/variables").find("hunter2") != std::string::npos);
  CHECK(files.contains("jobs/train-1/rank"));
  CHECK(files.contains("jobs/train-1/spec"));
}

TEST_CASE("the warnings of Slurm about a job that it takes are those of its start") {
  SlurmHead head{.submit_error =
                     "sbatch: Warning: can't run 2 processes on 9 nodes, setting "
                     "nnodes to 2\n\nsbatch: the queue is long\n"};
  const Cancel never;
  CHECK(head.engine->start("train-1", job_of_two(), never, {}).warning ==
        "Slurm on login: sbatch: Warning: can't run 2 processes on 9 nodes, setting nnodes to 2; "
        "sbatch: the queue is long");
}

TEST_CASE("a job that Slurm refuses is stopped, so that nothing of it stays behind") {
  SlurmHead head{.submit_error = "sbatch: error: Invalid account\n"};
  head.submit_exit.status = 1;
  const Cancel never;
  const Error e = failure_of([&] { head.engine->start("train-1", job_of_two(), never, {}); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()) ==
        "submitting job train-1: Slurm on login: sbatch: error: Invalid account");
  CHECK(head.actions == std::vector<std::string>{"submit", "cancel", "end"});
}

TEST_CASE(
    "a job whose submission has no answer may run, unless Slurm confirms that it is stopped") {
  for (const int lost_answers : {1, 100}) {
    CAPTURE(lost_answers);
    SlurmHead head{.lost_answers = lost_answers};
    const Cancel never;
    bool may_run = false;
    try {
      head.engine->start("train-1", job_of_two(), never, {});
      FAIL("the submission has no answer");
    } catch (const JobMayRun&) {
      may_run = true;
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::transient);
    }
    CHECK(may_run == (lost_answers > 1));
  }
}

TEST_CASE("a submission that the controller has not answered may have been received") {
  SlurmHead head{.submit_error = "sbatch: error: Socket timed out on send/recv operation\n"};
  head.submit_exit.status = 4;
  head.cancel_exit.status = 4;
  const Cancel never;
  bool may_run = false;
  try {
    head.engine->start("train-1", job_of_two(), never, {});
    FAIL("the submission has no answer");
  } catch (const JobMayRun& e) {
    may_run = true;
    CHECK(e.kind() == ErrorKind::transient);
  }
  CHECK(may_run);
}

TEST_CASE("a job that Slurm has taken with an answer that is not understood may run") {
  SlurmHead head{.submit_answer = "Welcome\n"};
  head.cancel_exit.status = 4;
  const Cancel never;
  CHECK_THROWS_AS(head.engine->start("train-1", job_of_two(), never, {}), JobMayRun);
}

TEST_CASE("a job has a comment of its own, by which it is found in Slurm's queue") {
  std::set<std::string> comments;
  for (int i = 0; i < 2; ++i) {
    SlurmHead head;
    const Cancel never;
    head.engine->start("train-1", job_of_two(), never, {});
    const std::string& files = head.submitted;
    const std::size_t at = files.find("#SBATCH --comment=fastgpu-");
    REQUIRE(at != std::string::npos);
    comments.insert(files.substr(at, files.find('\n', at) - at));
  }
  CHECK(comments.size() == 2);
}

TEST_CASE("a glance at a job whose start was unclear returns Slurm's number of it") {
  SlurmHead head;
  JobRecord job = job_of_two();
  job.engine_job.id.clear();
  head.state = "scontrol\nJobId=7 JobState=RUNNING Reason=None ExitCode=0:0 NodeList=n1\n";
  const JobGlance running = head.engine->glance("train-1", job);
  CHECK(running.engine_id == "7");
  CHECK_FALSE(running.waits);
  head.state = "sacct\n7|RUNNING|0:0|n1\n";
  CHECK(head.engine->glance("train-1", job).engine_id == "7");
}

TEST_CASE("a head node without Slurm is named, with the remedy") {
  const std::string unconfigured =
      "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
      "sbatch: error: fetch_config: DNS SRV lookup failed\n"
      "sbatch: fatal: Could not establish a configuration source\n";
  struct Case {
    int status;
    std::string said;
    std::string why;
  };
  for (const Case& one : {Case{7, "sbatch is missing\n", "sbatch is missing"},
                          Case{1, unconfigured, "its programs are there, but no slurm.conf"}}) {
    CAPTURE(one.why);
    const std::string wanted = "the head node login has no Slurm (" + one.why +
                               "): `fastgpu start cluster` repeats the set-up of a cluster with "
                               "`scheduler: slurm`, and `fastgpu create cluster --scheduler slurm` "
                               "sets it up in any other; or install and configure the client of "
                               "your Slurm there";
    SlurmHead head;
    head.submit_exit.status = one.status;
    head.submit_error = head.test_answer = one.said;
    const Cancel never;
    const Error started =
        failure_of([&] { head.engine->start("train-1", job_of_two(), never, {}); });
    CHECK(started.kind() == ErrorKind::remote);
    CHECK(std::string(started.what()) == "submitting job train-1: " + wanted);
    const Error tried = failure_of([&] { head.engine->try_start(job_of_two(), never); });
    CHECK(std::string(tried.what()) == wanted);
  }
}

TEST_CASE(
    "a client of Slurm that has lost its configuration may get it back, and is named as that") {
  SlurmHead head;
  head.state_exit.status = 4;
  head.state_error =
      "scontrol: error: fetch_config: DNS SRV lookup failed\n"
      "scontrol: fatal: Could not establish a configuration source\n";
  const Error e = failure_of([&] { head.engine->glance("train-1", job_of_two()); });
  CHECK(e.kind() == ErrorKind::transient);
  CHECK(std::string(e.what()).starts_with("the head node login has no Slurm"));
}

TEST_CASE("the end of a job in Slurm is awaited until Slurm has seen it") {
  SlurmHead head{.waits_in_vain = 3};
  const Cancel never;
  head.engine->await_end("train-1", job_of_two(), never);
  CHECK(std::ranges::count(head.actions, "await") == 4);
  CHECK(head.noted.empty());
}

TEST_CASE("a job in Slurm's queue waits there, with Slurm's reason") {
  SlurmHead head;
  head.state = "scontrol\nJobId=7 JobState=PENDING Reason=Priority ExitCode=0:0 NodeList=(null)\n";
  const JobGlance glance = head.engine->glance("train-1", job_of_two());
  CHECK_FALSE(glance.outcome);
  CHECK(glance.waits);
  CHECK(glance.reason == "waits in Slurm's queue (Priority)");
}

TEST_CASE("one who follows a job is told why it waits in Slurm's queue, on each change alone") {
  struct Recorder final : JobObserver {
    void output(int, agent::OutputStream, std::string_view) override {}
    void queued(const std::string& run, const std::string& reason) override {
      reasons.push_back(run + ": " + reason);
    }
    std::vector<std::string> reasons{};
  };
  SlurmHead head{.waits_in_vain = 5};
  head.seen_by_waits = {"JobState=PENDING Reason=Priority", "JobState=PENDING Reason=Priority",
                        "JobState=PENDING Reason=Resources", "JobState=RUNNING Reason=None",
                        "JobState=RUNNING Reason=None"};
  head.frames = end_of_rank(0, 0) + end_of_rank(1, 0) + frame({.kind = FrameKind::end}, "");
  Recorder recorder;
  const Cancel never;

  head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, recorder, never);

  CHECK(recorder.reasons == std::vector<std::string>{"train-1: waits in Slurm's queue (Priority)",
                                                     "train-1: waits in Slurm's queue (Resources)",
                                                     "train-1: "});
}

TEST_CASE("a controller that does not answer is named as that, and may answer later") {
  SlurmHead head;
  head.state_exit.status = 4;
  head.state_error = "slurm_load_jobs error: Unable to contact slurm controller\n";
  const Error e = failure_of([&] { head.engine->glance("train-1", job_of_two()); });
  CHECK(e.kind() == ErrorKind::transient);
  CHECK(std::string(e.what()) ==
        "Slurm's controller does not answer on login: slurm_load_jobs error: Unable to contact "
        "slurm controller");
}

TEST_CASE("the end of a job is written for those that follow it, and decided by its ranks") {
  SlurmHead head;
  head.state = "scontrol\nJobId=7 JobState=FAILED ExitCode=3:0 NodeList=n1\n";
  head.frames = end_of_rank(0, 0) + end_of_rank(1, 3) + frame({.kind = FrameKind::end}, "");
  const JobGlance glance = head.engine->glance("train-1", job_of_two());
  REQUIRE(glance.outcome);
  CHECK(glance.outcome->exit_code == 3);
  CHECK(glance.outcome->reason == "rank 1 on n1: exited with 3");
  const agent::JobEnd noted = agent::parse_job_end(head.noted);
  CHECK(noted.how.code == 3);
  CHECK(noted.cause == agent::StopCause::none);
}

TEST_CASE("following ends with an error once the controller has been silent for too long") {
  SlurmHead head;
  head.state_exit.status = 4;
  head.state_error = "connect failure\n";
  Quiet quiet;
  const Cancel never;
  const Error e = failure_of(
      [&] { head.engine->follow("train-1", job_of_two(), OnCancel::leave_job, {}, quiet, never); });
  CHECK(e.kind() == ErrorKind::transient);
  CHECK(std::string(e.what()).starts_with("job train-1: Slurm's controller does not answer"));
}

TEST_CASE("a job is followed to the end that Slurm reports") {
  SlurmHead head;
  head.frames = end_of_rank(0, 0) + end_of_rank(1, 0) +
                frame({.kind = FrameKind::job_status}, to_text(agent::JobEnd{})) +
                frame({.kind = FrameKind::end}, "");
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.state == state::JobState::succeeded);
}

TEST_CASE("a job that is interrupted is cancelled, although Slurm still ends it on a node") {
  SlurmHead head{.waits_in_vain = 1000};
  head.cancel_answer = "n2\n";
  Quiet quiet;
  Cancel cancel;
  cancel.request();
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, cancel);
  CHECK(outcome.state == state::JobState::cancelled);
  CHECK(outcome.reason == "cancelled; Slurm is still cleaning up on n2");
}

TEST_CASE("Slurm is not asked about a job that succeeds at once") {
  SlurmHead head{.before_first_look = std::chrono::minutes(1)};
  head.frames = end_of_rank(0, 0) + end_of_rank(1, 0) +
                frame({.kind = FrameKind::job_status},
                      to_text(agent::JobEnd{.host = "n[1-2]", .reason = {}})) +
                frame({.kind = FrameKind::end}, "");
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.state == state::JobState::succeeded);
  CHECK(outcome.nodes == "n[1-2]");
  CHECK(head.actions.empty());
}

TEST_CASE("Slurm is asked at once about a job with a rank that fails") {
  SlurmHead head{.before_first_look = std::chrono::minutes(1)};
  head.state = "scontrol\nJobId=7 JobState=FAILED ExitCode=3:0 NodeList=n1\n";
  head.frames = end_of_rank(1, 3) + frame({.kind = FrameKind::end}, "");
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.exit_code == 3);
  CHECK(head.actions == std::vector<std::string>{"await", "end"});
}

std::vector<ClusterNode> two_others() {
  return {ClusterNode{.host = {.name = {"n1"}}, .peer = {}},
          ClusterNode{.host = {.name = {"n2"}}, .peer = {}}};
}

std::string nodes_of_job(const std::string& list, bool have_output) {
  return frame({.kind = FrameKind::batch_nodes, .offset = have_output ? 1U : 0U}, list);
}

std::string end_of_job(int code) {
  return frame({.kind = FrameKind::job_status},
               to_text(agent::JobEnd{.how = {.code = code}, .host = "n1", .reason = {}})) +
         frame({.kind = FrameKind::end}, "");
}

TEST_CASE("without a shared home, nodes that have nothing to read are not asked") {
  SlurmHead head{.others = two_others(), .before_first_look = std::chrono::minutes(1)};
  head.frames = nodes_of_job("login,n1", false) + end_of_job(0);
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.state == state::JobState::succeeded);
  CHECK(head.followed_on == std::set<std::string>{"login"});
  CHECK(head.forgotten_on.empty());
  CHECK(head.actions.empty());
}

TEST_CASE("without a shared home, the nodes of a job that has output are read, and no others") {
  SlurmHead head{.others = two_others(), .before_first_look = std::chrono::minutes(1)};
  head.frames = nodes_of_job("login,n1", true) + end_of_job(0);
  head.frames_of_others = end_of_rank(1, 0) + frame({.kind = FrameKind::end}, "");
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.state == state::JobState::succeeded);
  CHECK(head.followed_on == std::set<std::string>{"login", "n1"});
}

TEST_CASE("a node on which a job has not begun has nothing to say about its end") {
  SlurmHead head{.others = two_others()};
  head.state = "scontrol\nJobId=7 JobState=FAILED ExitCode=3:0 NodeList=n[1-2]\n";
  head.frames = end_of_rank(0, 3) + end_of_job(3);
  head.exit_of_others = {.status = 127};
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.exit_code == 3);
  CHECK(head.followed_on == std::set<std::string>{"login", "n1", "n2"});
  CHECK(head.forgotten_on == std::set<std::string>{"login", "n2"});
}

TEST_CASE("a job that goes on is waited for again, however long it takes") {
  SlurmHead head{.waits_in_vain = 100};
  head.frames = end_of_rank(0, 0) + end_of_rank(1, 0) + frame({.kind = FrameKind::end}, "");
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.state == state::JobState::succeeded);
  CHECK(std::ranges::count(head.actions, "await") == 101);
}

TEST_CASE("a trial shows the batch script and Slurm's answer") {
  SlurmHead head;
  const Cancel never;
  const JobTrial trial = head.engine->try_start(job_of_two(), never);
  CHECK(trial.note == "sbatch: Job 7 to start");
  CHECK(trial.text.find("#SBATCH --ntasks=2\n") != std::string::npos);
  head.submit_exit.status = 1;
  const Error e = failure_of([&] { head.engine->try_start(job_of_two(), never); });
  CHECK(std::string(e.what()) == "Slurm on login refuses the job: sbatch: Job 7 to start");
}

TEST_CASE("without a shared home, the files of ranks travel with the batch script") {
  SlurmHead head{.others = two_others()};
  const Cancel never;
  head.engine->start("train-1", job_of_two(), never, {});
  CHECK_FALSE(head.put_on.contains("n1"));
  std::map<std::string, std::string> files;
  for (const agent::SmallFile& file : agent::decode_files(head.submitted))
    files[file.name] = file.content;
  CHECK_FALSE(files.contains("jobs/train-1/variables"));
  CHECK_FALSE(files.contains("jobs/train-1/comm-secret"));
  std::map<std::string, std::string> carried;
  for (const agent::SmallFile& file : agent::files_in_script(files.at("jobs/train-1/batch") +
                                                             files.at("jobs/train-1/batch-files")))
    carried[file.name] = file.content;
  CHECK(carried.at("jobs/train-1/variables").find("hunter2") != std::string::npos);
  CHECK(carried.contains("jobs/train-1/comm-secret"));
  CHECK(carried.at("jobs/train-1/rank") == files.at("jobs/train-1/rank"));
}

TEST_CASE("without a shared home, nodes get the agent before the first job, and are asked once") {
  SlurmHead head{.others = two_others(), .knows_nodes = false};
  const Cancel never;
  head.engine->start("train-1", job_of_two(), never, {});
  CHECK(head.put_on.at("n1").empty());
  CHECK(head.put_on.at("n2").empty());
  CHECK(head.actions == std::vector<std::string>{"submit", "submit"});
  head.put_on.clear();
  head.engine->start("train-2", job_of_two(), never, {});
  CHECK_FALSE(head.put_on.contains("n1"));
}

TEST_CASE("without a shared home, every node reports the ranks that it has") {
  SlurmHead head{.others = {ClusterNode{.host = {.name = {"n2"}}, .peer = {}}}};
  const Cancel never;
  head.state = "scontrol\nJobId=7 JobState=FAILED ExitCode=3:0 NodeList=n[1-2]\n";
  head.frames = end_of_rank(0, 0) + end_of_job(3);
  head.frames_of_others =
      frame({.kind = FrameKind::data, .rank = agent::kLauncherRank}, "srun: no") +
      end_of_rank(1, 3) + frame({.kind = FrameKind::end}, "");
  Quiet quiet;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  CHECK(outcome.reason == "rank 1 on n1: exited with 3");
  CHECK(head.forgotten_on == std::set<std::string>{"login", "n2"});
  const JobGlance glance = head.engine->glance("train-1", job_of_two());
  REQUIRE(glance.outcome);
  CHECK(glance.outcome->exit_code == 3);
}

TEST_CASE("with a shared home, only the head is asked") {
  SlurmHead head;
  const Cancel never;
  head.engine->start("train-1", job_of_two(), never, {});
  head.engine->stop("train-1", job_of_two());
  for (const FakeSsh::Seen& asked : head.client.seen)
    CHECK(asked.host == "login");
  CHECK(head.forgotten_on.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
