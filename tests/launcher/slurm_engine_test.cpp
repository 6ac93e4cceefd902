#include "launcher/slurm_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "launcher/slurm_head.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using agent::FrameKind;
using test::failure_of;
using test::FakeSsh;
using test::frame;

TEST_SUITE_BEGIN("launcher/slurm_engine");

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

TEST_CASE("a glance at a job whose start was unclear returns Slurm's number of it") {
  SlurmHead head;
  JobRecord job = job_of_two();
  job.engine_job.id.clear();
  head.state = "scontrol\nJobId=7 JobState=RUNNING Reason=None ExitCode=0:0 NodeList=n1\n";
  const JobGlance running = head.engine->glance("train-1", job);
  CHECK(running.engine_id == "7");
  CHECK_FALSE(running.waits);
  head.state = "sacct\n7|RUNNING|0:0|n1|1000|Unknown\nclock 1002\n";
  CHECK(head.engine->glance("train-1", job).engine_id == "7");
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

TEST_CASE("a job that is cancelled while others follow it is cancelled for them, too") {
  SlurmHead head;
  head.state =
      "scontrol\nJobId=7 JobState=COMPLETING Reason=None ExitCode=0:0 NodeList=n1\nstopped\n";
  agent::JobEnd cancelled;
  cancelled.how.signal = 15;
  cancelled.cause = agent::StopCause::request;
  head.frames = frame({.kind = FrameKind::job_status}, to_text(cancelled)) +
                frame({.kind = FrameKind::end}, "");
  Quiet quiet;
  const Cancel never;
  const JobOutcome outcome =
      head.engine->follow("train-1", job_of_two(), OnCancel::leave_job, {}, quiet, never);
  CHECK(outcome.state == state::JobState::cancelled);
  CHECK(outcome.reason == "cancelled by the user; Slurm is still cleaning up on n1");
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

TEST_CASE(
    "after a job that may have lacked the agent, the next one looks for it, and this is said") {
  SlurmHead head{.others = two_others()};
  head.state = "scontrol\nJobId=7 JobState=FAILED ExitCode=143:0 NodeList=n[1-2]\n";
  const std::string said = "srun: error: n2: task 1: Exited with exit code 127\n";
  head.frames = frame({.kind = FrameKind::data,
                       .stream = agent::OutputStream::err,
                       .rank = agent::kLauncherRank},
                      said) +
                end_of_job(143);
  head.mark_of_nodes = "present";
  Quiet quiet;
  const Cancel never;
  const auto follow = [&] {
    return head.engine->follow("train-1", job_of_two(), OnCancel::stop_job, {}, quiet, never);
  };
  CHECK(follow().reason.ends_with("; the next job installs fastgpu's agent where it is missing"));
  CHECK(head.mark_of_nodes.empty());

  head.mark_of_nodes = "present";
  head.frames = frame({.kind = FrameKind::data,
                       .stream = agent::OutputStream::err,
                       .rank = agent::kLauncherRank},
                      said) +
                end_of_rank(0, 127) + end_of_rank(1, 0) + end_of_job(127);
  CHECK(follow().reason == "rank 0 on n1: exited with 127");
  CHECK(head.mark_of_nodes == "present");
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
