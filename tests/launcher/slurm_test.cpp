#include "launcher/engines/slurm.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "launcher/engines/slurm_batch.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

JobSpec slurm_spec() {
  JobSpec spec;
  spec.name = {"train"};
  spec.argv = {"./train"};
  spec.engine = EngineKind::slurm;
  return spec;
}

const std::string kSeeNodes = ": `sinfo -R` on login shows which nodes Slurm does not use, and why";

const std::string kRankCommand = "exec agent rank 'a b'";

bool has_line(const std::string& script, const std::string& line) {
  return ("\n" + script).find("\n" + line + "\n") != std::string::npos;
}

SlurmJob ended(const std::string& state, process::ExitStatus batch = {}) {
  return {.state = state, .phase = SlurmPhase::ended, .batch = batch, .nodes = "n[1-2]"};
}

agent::RankEnd rank_end(int rank, const std::string& host, process::ExitStatus how,
                        std::int64_t when) {
  agent::RankEnd end;
  end.rank = rank;
  end.host = host;
  end.how = how;
  end.ended = when;
  return end;
}

JobReport report_of_two(process::ExitStatus first, process::ExitStatus second) {
  JobReport report;
  report.placement = {{.node = {"login"}, .first = 0, .count = 2}};
  report.ranks = {rank_end(0, "n1", first, 20), rank_end(1, "n2", second, 10)};
  return report;
}

TEST_SUITE_BEGIN("launcher/engines/slurm");

TEST_CASE("in a Slurm of fastgpu's own, a job gets ranks by the slots of its nodes") {
  const std::vector<NodeSlots> nodes = {{.name = {"a"}, .slots = 2}, {.name = {"b"}, .slots = 4}};
  JobSpec spec;
  CHECK(within_slots(spec, nodes).ranks == 6);
  CHECK(within_slots(spec, nodes).per_node == 4);
  spec.per_node = 3;
  CHECK(within_slots(spec, nodes).ranks == 5);
  CHECK(within_slots(spec, nodes).per_node == 3);
  spec.per_node.reset();
  spec.ranks = 5;
  CHECK(within_slots(spec, nodes).ranks == 5);
  CHECK(within_slots(spec, nodes).per_node == 4);
  spec.ranks = 7;
  const Error e = failure_of([&] { within_slots(spec, nodes); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).starts_with(
      "7 ranks do not fit on 2 nodes: there are slots for 6 (set slurm.nodes"));
  spec.slurm.nodes = 2;
  CHECK(within_slots(spec, nodes).ranks == 7);
  CHECK(!within_slots(spec, nodes).per_node);
}

TEST_CASE("a batch script holds what the job asks for, and nothing else") {
  JobSpec spec = slurm_spec();
  spec.ranks = 4;
  const std::string plain = slurm_batch_script("train-1", spec, kRankCommand);
  CHECK(plain.starts_with("#!/bin/sh\n#SBATCH --job-name=train-1\n"));
  CHECK(plain.find("\nexec agent rank ") != std::string::npos);
  CHECK(has_line(plain, "#SBATCH --output=.fastgpu/jobs/train-1/launcher.out"));
  CHECK(has_line(plain, "#SBATCH --error=.fastgpu/jobs/train-1/launcher.err"));
  CHECK(has_line(plain, "#SBATCH --ntasks=4"));
  // The ranks need the variables of the batch script, also where the site keeps them back.
  CHECK(has_line(plain, "#SBATCH --export=ALL"));
  CHECK(plain.find("\nsrun --kill-on-bad-exit=1 --export=ALL /bin/sh -c ") != std::string::npos);
  for (const char* absent : {"--nodes", "--gres", "--time", "--partition", "--account", "--qos",
                             "--cpus-per-task", "--ntasks-per-node", "--mpi", "scancel"})
    CHECK(plain.find(absent) == std::string::npos);

  spec.per_node = 2;
  spec.timeout = std::chrono::milliseconds(3'723'100);
  spec.slurm = {.partition = "gpu",
                .account = "ab12",
                .qos = "high",
                .mpi = "pmix",
                .nodes = 2,
                .gpus = 8,
                .cpus = 6};
  const std::string full = slurm_batch_script("train-1", spec, kRankCommand);
  for (const char* line :
       {"#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=2", "#SBATCH --cpus-per-task=6",
        "#SBATCH --gres=gpu:8", "#SBATCH --time=1:02:04", "#SBATCH --partition=gpu",
        "#SBATCH --account=ab12", "#SBATCH --qos=high", "OMP_NUM_THREADS=6",
        "(sleep 3724 & sleeps=$!"})
    CHECK_MESSAGE(has_line(full, line), line);
  CHECK(full.find(
            "srun --kill-on-bad-exit=1 --export=ALL --mpi=pmix --cpus-per-task=6 /bin/sh -c ") !=
        std::string::npos);
  CHECK(full.find("LOCAL_WORLD_SIZE=2") != std::string::npos);

  spec.slurm = {.gpus = 2,
                .gpu_type = "a100",
                .memory = "64G",
                .constraint = "a100&nvlink",
                .reservation = "course",
                .nodelist = "gpu[01-02]",
                .exclude = "gpu07",
                .exclusive = true};
  const std::string site = slurm_batch_script("train-1", spec, kRankCommand);
  for (const char* line :
       {"#SBATCH --gres=gpu:a100:2", "#SBATCH --mem=64G", "#SBATCH --constraint=a100&nvlink",
        "#SBATCH --reservation=course", "#SBATCH --nodelist=gpu[01-02]", "#SBATCH --exclude=gpu07",
        "#SBATCH --exclusive"})
    CHECK_MESSAGE(has_line(site, line), line);
  CHECK(site.find("mem-per-cpu") == std::string::npos);
  spec.slurm = {.memory_per_cpu = "4000M"};
  CHECK(has_line(slurm_batch_script("train-1", spec, kRankCommand), "#SBATCH --mem-per-cpu=4000M"));
}

TEST_CASE("a batch script chooses a plugin for MPI unless the job names one") {
  JobSpec spec = slurm_spec();
  spec.ranks = 2;
  const auto script = [&spec] {
    return slurm_batch_script("train-1", spec, kRankCommand, SlurmHome::shared, "", "agent start");
  };
  CHECK(script().find("eval \"$(agent start)\"\n") != std::string::npos);
  for (const char* plugin : {"pmix", "pmi2"})
    CHECK(script().find("export SLURM_MPI_TYPE=" + std::string(plugin)) != std::string::npos);
  spec.slurm.mpi = "pmi2";
  CHECK(script().find("eval \"$(agent start)\"\n") != std::string::npos);
  CHECK(script().find("SLURM_MPI_TYPE") == std::string::npos);
}

TEST_CASE("a batch script records a success, which is read as the end that Slurm would report") {
  JobSpec spec = slurm_spec();
  spec.ranks = 1;
  const std::string script = slurm_batch_script("train-1", spec, kRankCommand);
  CHECK(has_line(script,
                 "  printf 'code=0\\0signal=0\\0ended=%s\\0cause=none\\0host=%s\\0reason=\\0' "
                 "\"$(date +%s%N)\" \"$SLURM_JOB_NODELIST\" > "
                 ".fastgpu/jobs/train-1/status.batch"));
  const auto job = job_in_record({.host = "n[1-2]", .reason = {}});
  REQUIRE(job);
  CHECK(job->state == "COMPLETED");
  CHECK(job->phase == SlurmPhase::ended);
  CHECK(job->nodes == "n[1-2]");
  CHECK_FALSE(job_in_record({.how = {.code = 1}, .host = "n1", .reason = {}}));
  CHECK_FALSE(job_in_record({.cause = agent::StopCause::request, .host = "n1", .reason = {}}));
  CHECK_FALSE(job_in_record(slurm_job_end(forgotten_slurm_job(), 1)));
}

TEST_CASE("the user's variables and program are not in the batch script, which others may read") {
  JobSpec spec = slurm_spec();
  spec.ranks = 1;
  spec.argv = {"./train", "--key", "hunter2"};
  spec.environment = {"TOKEN=hunter3"};
  const std::string script = slurm_batch_script("train-1", spec, kRankCommand);
  CHECK(script.find("hunter") == std::string::npos);
  CHECK(slurm_rank_variables(spec) ==
        std::vector<std::string>{"PYTHONUNBUFFERED=1", "TOKEN=hunter3"});
}

TEST_CASE("without a shared home, a batch script gives itself to the ranks, and takes their news") {
  JobSpec spec = slurm_spec();
  spec.ranks = 1;
  const std::string script = slurm_batch_script("train-1", spec, kRankCommand, SlurmHome::separate,
                                                "", "agent start || exec sh");
  const std::string place = ".fastgpu/jobs/train-1";
  CHECK(has_line(script, "#SBATCH --output=/dev/null"));
  CHECK(has_line(script, "(umask 077; mkdir -p " + place + ") && exec >> " + place +
                             "/launcher.out 2>> " + place + "/launcher.err || exit 1"));
  CHECK(has_line(script, "echo \"nodes $SLURM_JOB_NODELIST\" > " + place + "/batch-news"));
  CHECK(has_line(script, "eval \"$({ agent start || exec sh; } < \"$0\")\""));
  CHECK(script.find("rank 'a b'") == std::string::npos);  // It is quoted once more.
  CHECK(script.find(" < \"$0\" >> " + place + "/batch-news\ncode=$?\n") != std::string::npos);
  CHECK(script.ends_with("\nexit \"$code\"\n"));  // What is added after that is not run.
}

TEST_CASE("the ranks of a job are -np, or nodes times the ranks of each") {
  JobSpec spec = slurm_spec();
  const Error e = failure_of([&] { slurm_ranks(spec); });
  CHECK(e.kind() == ErrorKind::usage);
  spec.slurm.nodes = 3;
  CHECK(slurm_ranks(spec) == 3);
  spec.per_node = 4;
  CHECK(slurm_ranks(spec) == 12);
  spec.ranks = 5;
  CHECK(slurm_ranks(spec) == 5);
}

TEST_CASE("the answer of sbatch is a number") {
  CHECK(parse_sbatch("12\n") == "12");
  CHECK(parse_sbatch("12;east\n") == "12");
  for (const char* bad :
       {"", "\n", "Submitted batch job 12", "12x", "-1", "; rm -rf /", "123456789012345678901"})
    CHECK(failure_of([&] { parse_sbatch(bad); }).kind() == ErrorKind::remote);
}

TEST_CASE("a job is read from scontrol") {
  const SlurmJob waiting = parse_slurm_job(
      "scontrol\nJobId=7 JobName=train-1 UserId=ann(1000) Priority=1 Account=(null) "
      "JobState=PENDING Reason=Resources Dependency=(null) ExitCode=0:0 NodeList= "
      "ReqNodeList=(null)\n");
  CHECK(waiting.state == "PENDING");
  CHECK(waiting.phase == SlurmPhase::waiting);
  CHECK(waiting.reason == "Resources");
  CHECK(waiting.nodes.empty());
  const SlurmJob over = parse_slurm_job(
      "scontrol\nJobId=7 JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0 NodeList=n[1-2]\n");
  CHECK(over.phase == SlurmPhase::ended);
  CHECK(over.batch.code == 3);
  CHECK(over.nodes == "n[1-2]");
}

TEST_CASE("a job that Slurm has put back into its queue has ended") {
  for (const char* state : {"PENDING", "RUNNING", "REQUEUED", "COMPLETED", "FAILED"}) {
    CAPTURE(state);
    const std::string line = "scontrol\nJobId=7 JobState=" + std::string(state) +
                             " Reason=BeginTime Requeue=1 Restarts=1 ExitCode=0:0 NodeList=n1\n";
    const SlurmJob job = parse_slurm_job(line);
    CHECK(job.phase == SlurmPhase::ended);
    const JobOutcome outcome =
        decide_slurm(report_of_two({.code = 0, .signal = 15}, {.code = 0, .signal = 15}), job);
    CHECK(outcome.state == state::JobState::lost);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.reason ==
          "Slurm ended it and put it back into its queue, from which it does not start again: run "
          "it once more");
    CHECK(slurm_job_end(job, 1).how.code != 0);
  }
  CHECK(parse_slurm_job("scontrol\nJobId=7 JobState=RUNNING Restarts=0 ExitCode=0:0\n").phase ==
        SlurmPhase::running);
  CHECK(parse_slurm_job("scontrol\nJobId=7 JobState=COMPLETING Restarts=1 ExitCode=0:15\n").phase ==
        SlurmPhase::running);
  JobSpec spec = slurm_spec();
  spec.ranks = 1;
  const std::string script = slurm_batch_script("train-1", spec, kRankCommand);
  CHECK(script.find("\nif [ \"${SLURM_RESTART_COUNT:-0}\" -gt 0 ]; then\n") < script.find("srun "));
}

TEST_CASE("a job that makes no progress has a reason") {
  const auto reason_in = [](const std::string& words) {
    return idle_reason(parse_slurm_job("scontrol\nJobId=7 " + words + " ExitCode=0:0\n"));
  };
  CHECK(reason_in("JobState=PENDING Reason=Priority") == "waits in Slurm's queue (Priority)");
  CHECK(reason_in("JobState=SUSPENDED Reason=None") == "is suspended in Slurm");
  CHECK(reason_in("JobState=STOPPED Reason=None") == "is stopped in Slurm");
  CHECK(reason_in("JobState=RUNNING Reason=None").empty());
  CHECK(reason_in("JobState=COMPLETED Reason=None").empty());
}

TEST_CASE("a job that the controller has forgotten is read from sacct or from its own note") {
  const SlurmJob cancelled =
      parse_slurm_job("sacct\n7|CANCELLED by 1000|0:15|n1|Unknown|Unknown\n");
  CHECK(cancelled.state == "CANCELLED");
  CHECK(cancelled.batch.signal == 15);
  CHECK(cancelled.nodes == "n1");
  CHECK(parse_slurm_job("sacct\n7|PENDING|0:0|None assigned|Unknown|Unknown\n").nodes.empty());
  const SlurmJob succeeded = parse_slurm_job("batch\n0 n[1-2]\n");
  CHECK(succeeded.phase == SlurmPhase::ended);
  CHECK(succeeded.state == "COMPLETED");
  CHECK(succeeded.nodes == "n[1-2]");
  CHECK(parse_slurm_job("batch\n0\n").nodes.empty());  // The script of an older fastgpu.
  CHECK(parse_slurm_job("batch\n9\n").batch.code == 9);
}

TEST_CASE("a job that fastgpu has cancelled is not taken for one that was cancelled in Slurm") {
  const std::string text = "scontrol\nJobId=7 JobState=CANCELLED ExitCode=0:15 NodeList=n1\n";
  CHECK(decide_slurm({}, parse_slurm_job(text)).reason == "cancelled in Slurm");
  const JobOutcome ours = decide_slurm({}, parse_slurm_job(text + "stopped\nclock 1012\n"));
  CHECK(ours.reason == "cancelled by the user");
  CHECK(ours.state == state::JobState::cancelled);
}

TEST_CASE("an answer that is none of these is refused and shown") {
  for (const char* bad :
       {"", "scontrol", "scontrol\n", "scontrol\nJobId=7 JobState=RUNNING\n",
        "scontrol\nJobId=7 JobState=DANCING ExitCode=0:0\n",
        "scontrol\nJobId=7 JobState=RUNNING ExitCode=0\n",
        "scontrol\nJobId=7 JobState=RUNNING ExitCode=0:x\n",
        "scontrol\nJobState=RUNNING ExitCode=0:0\n", "sacct\n7|COMPLETED|0:0\n",
        "sacct\n7|COMPLETED|0:0|n1|1|2|more\n", "sacct\n7|COMPLETED|999:0|n1|1|2\n", "batch\n\n",
        "batch\n1x n1\n", "squeue\n7\n"})
    CHECK_MESSAGE(failure_of([&] { parse_slurm_job(bad); }).kind() == ErrorKind::remote, bad);
  const Error e =
      failure_of([] { parse_slurm_job("scontrol\nJobId=7 JobState=DANCING ExitCode=0:0\n"); });
  CHECK(std::string(e.what()) == "Slurm reports the unknown state 'DANCING'");
}

TEST_CASE("the rank that failed first by itself decides, on the node that it reports") {
  const JobOutcome outcome = decide_slurm(report_of_two({.code = 1}, {.code = 0, .signal = 11}),
                                          ended("FAILED", {.code = 139}));
  CHECK(outcome.state == state::JobState::failed);
  CHECK(outcome.exit_code == 139);
  CHECK(outcome.first_rank == 1);
  CHECK(outcome.reason == "rank 1 on n2: killed by SIGSEGV");
}

TEST_CASE("Slurm's own reasons for an end are told apart") {
  using state::JobState;
  struct Row {
    SlurmJob job;
    JobState state;
    int code;
    std::string reason;
  };
  const std::vector<Row> table = {
      {ended("COMPLETED"), JobState::succeeded, 0, ""},
      {ended("CANCELLED"), JobState::cancelled, 130, "cancelled in Slurm"},
      {ended("TIMEOUT"), JobState::failed, 124, "ran longer than Slurm allows (TIMEOUT)"},
      {ended("NODE_FAIL"), JobState::lost, 1, "Slurm ended it: NODE_FAIL (n[1-2])" + kSeeNodes},
      {ended("PREEMPTED"), JobState::lost, 1, "Slurm ended it: PREEMPTED (n[1-2])"},
      {ended("OUT_OF_MEMORY"), JobState::failed, 137, "Slurm ended it: out of memory (n[1-2])"},
      {ended("FAILED", {.code = 3}), JobState::failed, 3, "Slurm's batch script exited with 3"},
      {ended("FAILED", {.code = 0, .signal = 53}), JobState::failed, 1,
       "n[1-2]: the job's directory is missing there: the nodes of Slurm must share the home "
       "directory of the node that submits"},
  };
  for (const Row& row : table) {
    JobReport report;
    report.placement = {{.node = {"login"}, .first = 0, .count = 2}};
    const JobOutcome outcome = decide_slurm(report, row.job);
    CHECK(outcome.state == row.state);
    CHECK(outcome.exit_code == row.code);
    CHECK(outcome.reason == row.reason);
  }
}

JobReport report_with_words(const std::string& words) {
  JobReport report;
  report.placement = {{.node = {"login"}, .first = 0, .count = 2}};
  report.launcher_tail = words;
  return report;
}

TEST_CASE("a prolog that fails on a node is named, and is no cancellation") {
  const SlurmJob job = parse_slurm_job(
      "scontrol\nJobId=7 JobState=CANCELLED Reason=None ExitCode=0:15 "
      "StartTime=2026-11-29T21:26:51 NodeList=n[1-2] BatchHost=n1\n");
  const std::string of_batch = "Error running slurm prolog: 1";
  const std::string of_step =
      "srun: error: Task launch for StepId=2.0 failed on node n2: Job prolog failed\n"
      "srun: error: Application launch failed: Job prolog failed\n"
      "slurmstepd-n1: error: Prolog failure on node n2\n"
      "srun: error: n1: task 0: Exited with exit code 143";
  for (const auto& [words, node] : {std::pair{of_batch, "n1"}, std::pair{of_step, "n2"}}) {
    const JobOutcome outcome = decide_slurm(report_with_words(words), job);
    CHECK(outcome.state == state::JobState::lost);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.cause == JobEndCause::node_loss);
    CHECK(outcome.reason == "Slurm's prolog failed on " + std::string(node) + kSeeNodes);
  }
  // A rank that Slurm has ended is not the cause.
  JobReport report = report_with_words(of_step);
  report.ranks = {rank_end(0, "n1", {.code = 0, .signal = 15}, 20)};
  CHECK(decide_slurm(report, job).reason == "Slurm's prolog failed on n2" + kSeeNodes);
  report.cancelled = true;
  CHECK(decide_slurm(report, job).state == state::JobState::cancelled);
}

TEST_CASE("a prolog that fails before the batch script begins is known from the node alone") {
  const auto job_with = [](const std::string& time) {
    return parse_slurm_job(
        "scontrol\nJobId=7 JobState=CANCELLED Reason=None ExitCode=0:15 "
        "StartTime=2026-11-29T21:26:51 NodeList=n[1-2] BatchHost=n1\n"
        "node NodeName=n1 Reason=old and slow [root@2026-11-29T21:26:52]\n"
        "node NodeName=n2 Reason=Prolog error [root@" +
        time + "]\n");
  };
  const SlurmJob failed = job_with("2026-11-29T21:26:51");
  const JobOutcome outcome = decide_slurm(report_with_words(""), failed);
  CHECK(outcome.state == state::JobState::lost);
  CHECK(outcome.reason == "Slurm's prolog failed on n2" + kSeeNodes);
  CHECK(slurm_job_end(failed, 1).cause == agent::StopCause::none);
  const SlurmJob earlier = job_with("2026-11-29T21:26:50");
  CHECK(decide_slurm(report_with_words(""), earlier).reason == "cancelled in Slurm");
  CHECK(slurm_job_end(earlier, 1).cause == agent::StopCause::request);
  // The prolog of another job failed on the node while the ranks of this one ran.
  JobReport report = report_of_two({.code = 0, .signal = 15}, {.code = 0, .signal = 15});
  CHECK(decide_slurm(report, job_with("2026-11-29T22:00:00")).reason == "cancelled in Slurm");
}

TEST_CASE("a node where Slurm starts no ranks is named, and not the ranks that it then ends") {
  JobReport report = report_with_words(
      "srun: error: n2: task 1: Exited with exit code 1\n"
      "srun: launch/slurm: _step_signal: Terminating StepId=10.0\n"
      "srun: error: n1: task 0: Exited with exit code 143\n"
      "slurmstepd-n2: error: TaskProlog failed status=1");
  report.ranks = {rank_end(0, "n1", {.code = 0, .signal = 15}, 20)};
  const JobOutcome task = decide_slurm(report, ended("FAILED", {.code = 143}));
  CHECK(task.state == state::JobState::failed);
  CHECK(task.exit_code == 1);
  CHECK(task.cause == JobEndCause::launcher);
  CHECK(task.reason == "Slurm's TaskProlog failed on n2: status=1");

  report.launcher_tail =
      "srun: error: Task launch for StepId=28.0 failed on node n2: Communication connection "
      "failure\nsrun: error: Application launch failed: Communication connection failure";
  const JobOutcome launch = decide_slurm(report, ended("FAILED", {.code = 233}));
  CHECK(launch.state == state::JobState::lost);
  CHECK(launch.exit_code == 1);
  CHECK(launch.cause == JobEndCause::node_loss);
  CHECK(launch.reason ==
        "Slurm could not start the ranks on n2 (Communication connection failure): `scontrol show "
        "node n2` on login shows its state");
  CHECK(decide_slurm(report, ended("CANCELLED")).reason == "cancelled in Slurm");
}

TEST_CASE("the node that failed is named, and not all nodes of the job") {
  const auto outcome =
      decide_slurm(report_with_words("srun: error: Node failure on n2\nsrun: Job step aborted"),
                   ended("NODE_FAIL"));
  CHECK(outcome.state == state::JobState::lost);
  CHECK(outcome.reason == "Slurm ended it: NODE_FAIL (n2)" + kSeeNodes);
}

TEST_CASE("a job whose script has ended is over, although Slurm still cleans up on a node") {
  const std::string before = "scontrol\nJobId=7 JobState=COMPLETING Reason=";
  const std::string after = " NodeList=n2 BatchHost=n1\n";
  const SlurmJob failed = parse_slurm_job(before + "NonZeroExitCode ExitCode=3:0" + after);
  CHECK(failed.phase == SlurmPhase::ended);
  CHECK(decide_slurm(report_with_words("no"), failed).reason ==
        "Slurm's batch script exited with 3: no; Slurm is still cleaning up on n2");
  const SlurmJob known =
      parse_slurm_job(before + "NonZeroExitCode ExitCode=3:0" + after + "batch 3 n[1-2]\n");
  CHECK(known.nodes == "n[1-2]");
  const SlurmJob slow =
      parse_slurm_job(before + "TimeLimit ExitCode=0:0" + after + "batch 143 n[1-2]\n");
  CHECK(decide_slurm(report_with_words(""), slow).exit_code == 124);
  const SlurmJob down =
      parse_slurm_job(before + "NodeDown ExitCode=0:0" + after + "batch 143 n[1-2]\n");
  CHECK(down.state == "NODE_FAIL");
  const SlurmJob stopped =
      parse_slurm_job(before + "None ExitCode=0:15" + after + "batch 143 n1\n");
  CHECK(stopped.state == "CANCELLED");
  const SlurmJob well = parse_slurm_job(before + "None ExitCode=0:0" + after + "batch 0 n[1-2]\n");
  CHECK(decide_slurm(report_of_two({}, {}), well).state == state::JobState::succeeded);
  CHECK(decide_slurm(report_of_two({}, {}), well).reason.empty());
  // The ranks may be ending yet.
  for (const char* words : {"None ExitCode=0:15", "TimeLimit ExitCode=0:0", "None ExitCode=0:0"}) {
    const SlurmJob seen = parse_slurm_job(before + words + after);
    CHECK(seen.phase == SlurmPhase::running);
    CHECK(idle_reason(seen) == "is being ended by Slurm on n2");
  }
}

TEST_CASE("the messages of srun are one line of the reason, each for itself") {
  JobReport report;
  report.placement = {{.node = {"login"}, .first = 0, .count = 2}};
  report.launcher_tail = "srun: error: no\nsrun: error: task 1: Killed";
  CHECK(decide_slurm(report, ended("FAILED", {.code = 137})).reason ==
        "Slurm's batch script exited with 137: srun: error: no; srun: error: task 1: Killed");
}

TEST_CASE("a job that Slurm has forgotten is judged by its ranks") {
  CHECK(decide_slurm(report_of_two({}, {}), forgotten_slurm_job()).state ==
        state::JobState::succeeded);
  JobReport half = report_of_two({}, {});
  half.ranks.pop_back();
  const JobOutcome outcome = decide_slurm(half, forgotten_slurm_job());
  CHECK(outcome.state == state::JobState::lost);
  CHECK(outcome.reason.find("not all of its ranks") != std::string::npos);
}

TEST_CASE("our own time limit is named as it was given") {
  JobReport report;
  report.timeout = std::chrono::minutes(2);
  CHECK(decide_slurm(report, ended("TIMEOUT")).reason == "ran longer than 2m");
  SlurmJob by_timer = ended("FAILED");
  by_timer.batch = {.code = 0, .signal = SIGXCPU};
  CHECK(decide_slurm(report, by_timer).reason == "ran longer than 2m");
  CHECK(decide_slurm(report, by_timer).exit_code == 124);
  CHECK(slurm_job_end(by_timer, 1).cause == agent::StopCause::timeout);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
