#include "launcher/slurm_submission.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "launcher/slurm_head.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("launcher/slurm_submission");

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
  CHECK(head.put_on.at("n1") == "slurm-homes/n1 ");
  CHECK(head.put_on.at("n2") == "slurm-homes/n2 ");
  CHECK(head.actions == std::vector<std::string>{"submit", "submit"});
  head.put_on.clear();
  head.engine->start("train-2", job_of_two(), never, {});
  CHECK_FALSE(head.put_on.contains("n1"));
}

TEST_CASE("nodes of Slurm by fastgpu that share a home directory are named, and run nothing") {
  SlurmHead head{.others = two_others(), .knows_nodes = false, .homes_seen = "login\nn2\n"};
  const Cancel never;
  const Error e = failure_of([&] { head.engine->start("train-1", job_of_two(), never, {}); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).starts_with("login and n2 share a home directory"));
  CHECK(head.actions.front() == "submit");
  CHECK(std::ranges::count(head.actions, "submit") == 1);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
