// The outcome of a job whose launcher failed: its words, above all those of mpirun, are understood.
#include <doctest/doctest.h>

#include "launcher/engines/mpirun_words.hpp"
#include "launcher/job_outcome.hpp"
#include "launcher/job_report.hpp"

namespace fastgpu::launcher {
namespace {

using agent::JobEnd;
using agent::RankEnd;
using agent::StopCause;
using state::JobState;
using test::job_end;
using test::rank_end;
using test::report_of;

TEST_SUITE_BEGIN("launcher/launcher_outcome");

TEST_CASE("where mpirun itself is what failed, its last words are shown") {
  JobReport seen = report_of({}, job_end(1));
  seen.launcher_tail = "ORTE was unable to start a daemon on demo-1";
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 exited with 1: ORTE was unable to start a daemon on demo-1");
  JobEnd missing = job_end(127);
  missing.reason = "/usr/bin/mpirun: No such file or directory";
  CHECK(decide(report_of({}, missing)).reason ==
        "mpirun could not be started on demo-0: /usr/bin/mpirun: No such file or directory");
  CHECK(decide(report_of({rank_end(0, 0, 0, 1, false)}, job_end(0, 9))).exit_code == 137);
}

TEST_CASE(
    "daemons that mpirun cannot start are one sentence with the command that finds the cause") {
  constexpr const char* kText =
      "--------------------------------------------------------------------------\n"
      "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n"
      "* not finding the required libraries and/or binaries on\n  one or more nodes.\n";
  JobReport seen = report_of({}, job_end(255));
  seen.cluster = "demo";
  seen.launcher_tail = kText;
  JobOutcome outcome = decide(seen);
  CHECK(outcome.exit_code == 255);
  CHECK(outcome.cause == JobEndCause::launcher);
  CHECK(outcome.explains_launcher);
  CHECK(outcome.reason ==
        "mpirun on demo-0 could not start its daemons on the other nodes: `fastgpu check cluster "
        "demo` looks for the cause");
  seen.launcher_tail = "bash: line 1: orted: command not found\n" + std::string(kText);
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 could not start its daemons on the other nodes (bash: line 1: orted: "
        "command not found): `fastgpu check cluster demo` looks for the cause");
  seen.launcher_tail = kText;
  seen.temporary_faults = {{{"demo-1"}, "/tmp", "No space left on device"}};
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 could not start its daemons on the other nodes; no space left on demo-1: "
        "/tmp");
}

TEST_CASE(
    "where the launcher had to be ended after all ranks, their outcome counts, with the reason") {
  const std::string why = "mpirun on demo-0 did not end within 10m after all ranks, and was ended";
  JobEnd stopped = job_end(0, 9);
  stopped.cause = StopCause::request;
  const auto seen = [&](std::vector<RankEnd> ranks, std::optional<JobEnd> launcher) {
    JobReport report = report_of(std::move(ranks), job_end(0));
    report.launcher = std::move(launcher);
    report.launcher_stayed = true;
    report.hang_timeout = std::chrono::minutes(10);
    return report;
  };
  JobEnd without_daemon = job_end(1);  // Another node got the order first.
  without_daemon.ordered = true;
  for (const auto& launcher : {std::optional<JobEnd>(stopped), std::optional<JobEnd>(),
                               std::optional<JobEnd>(without_daemon)}) {
    const JobOutcome well =
        decide(seen({rank_end(0, 0, 0, 1, false), rank_end(1, 0, 0, 2, false)}, launcher));
    CHECK(well.state == JobState::succeeded);
    CHECK(well.exit_code == 0);
    CHECK(well.reason == why);
    const JobOutcome bad =
        decide(seen({rank_end(0, 0, 0, 1, false), rank_end(1, 3, 0, 2, false)}, launcher));
    CHECK(bad.exit_code == 3);
    CHECK(bad.first_rank == 1);
    CHECK(bad.reason == "rank 1 on demo-1: exited with 3; " + why);
    const JobOutcome ordered =
        decide(seen({rank_end(0, 0, 0, 1, false), rank_end(1, 0, 15, 2, true)}, launcher));
    CHECK(ordered.state == JobState::failed);
    CHECK(ordered.reason == why);
  }
  // It has ended by itself while it was being ended.
  CHECK(decide(seen({rank_end(0, 0, 0, 1, false), rank_end(1, 0, 0, 2, false)}, job_end(0)))
            .reason.empty());
  JobReport cancelled = seen({rank_end(0, 0, 0, 1, false)}, stopped);
  cancelled.cancelled = true;
  CHECK(decide(cancelled).state == JobState::cancelled);
}

TEST_CASE("a node that does not begin is named, with the reason") {
  JobReport seen = report_of({}, job_end(1));
  seen.cluster = "demo";
  seen.launcher_tail =
      "still waiting for node demo-1 to begin\nConnection timed out\n"
      "node demo-1 has not begun: ssh: connect to host 10.0.0.2 port 22: Connection timed out\n"
      "------\nORTE was unable to reliably start one or more daemons.\n";
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.cause == JobEndCause::launcher);
  CHECK(outcome.explains_launcher);
  CHECK(outcome.reason ==
        "mpirun on demo-0 could not start its daemons on demo-1 (ssh: connect to host 10.0.0.2 "
        "port 22: Connection timed out): `fastgpu check cluster demo` looks for the cause");
}

/// The words of Open MPI 4.1, and of 5, for a call of MPI_Abort.
std::string abort_words(const std::string& rank, const std::string& where, int code) {
  return "[n1][[6465,1],0][btl_tcp.c:559:recv_blocking] recv(17) failed: reset by peer\n-----\n"
         "MPI_ABORT was invoked on rank " +
         rank + " in communicator " + where + "\nwith errorcode " + std::to_string(code) +
         ".\n\nNOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n-----\n";
}

std::string abort_words_5(const std::string& place, const std::string& name, int code) {
  return "-----\nMPI_ABORT was invoked on " + place + "\n  Proc: " + name +
         "\n  Errorcode: " + std::to_string(code) + "\n\nNOTE: invoking MPI_ABORT\n-----\n";
}

TEST_CASE("a call of MPI_Abort is a failure of its rank, with its code") {
  JobReport seen =
      report_of({rank_end(0, 0, 15, 1, true), rank_end(1, 0, 15, 2, true)}, job_end(7));
  for (const std::string& words :
       {abort_words("1", "MPI_COMM_WORLD", 7),
        abort_words_5("rank 1 in communicator MPI_COMM_WORLD", "[[59040,1],1]", 7),
        abort_words_5("rank 0 in communicator MPI_COMM_SELF", "[[29082,1],1]", 7)}) {
    seen.launcher_tail = words;
    const JobOutcome outcome = decide(seen);
    CHECK(outcome.exit_code == 7);
    CHECK(outcome.cause == JobEndCause::failure);
    CHECK(outcome.reason == "rank 1 on demo-1: called MPI_Abort with error code 7");
    CHECK(outcome.first_rank == 1);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->exit_code == 7);
    CHECK(outcome.failure->node.value == "demo-1");
  }
  SUBCASE("whose process may end before it is told to") {
    seen.ranks[1] = rank_end(1, 7, 0, 2, false);
    CHECK(decide(seen).reason == "rank 1 on demo-1: called MPI_Abort with error code 7");
  }
  SUBCASE("by a rank that is not known") {
    for (const std::string& words :
         {abort_words("0", "MPI_COMM_SELF", 7), abort_words("9", "MPI_COMM_WORLD", 7),
          abort_words_5("rank 0 in communicator MPI_COMM_WORLD", "[[29082,2],0]", 7)}) {
      seen.launcher_tail = words;
      const JobOutcome outcome = decide(seen);
      CHECK(outcome.exit_code == 7);
      CHECK(outcome.cause == JobEndCause::failure);
      CHECK(outcome.reason == "a rank called MPI_Abort with error code 7");
      CHECK_FALSE(outcome.failure);
      CHECK(outcome.explains_launcher);
    }
  }
  SUBCASE("but not if another rank has failed by itself") {
    seen.ranks[0] = rank_end(0, 3, 0, 1, false);
    CHECK(decide(seen).reason == "rank 0 on demo-0: exited with 3");
  }
}

TEST_CASE("the lost nodes that did not answer this machine are in the outcome, and no others") {
  JobReport seen = report_of({}, std::nullopt);
  seen.lost = {{{"demo-1"}, "no sign of life for 15s"}};
  seen.unanswered = {seen.lost.front(), {{"demo-0"}, "no connection within 3s"}};
  const JobOutcome outcome = decide(seen);
  REQUIRE(outcome.unanswered.size() == 1);
  CHECK(outcome.unanswered.front().node.value == "demo-1");
  CHECK(outcome.unanswered.front().why == "no sign of life for 15s");
  seen = report_of({rank_end(0, 3, 0, 1, false), rank_end(1, 0, 0, 2, false)}, job_end(3));
  seen.unanswered = {{{"demo-0"}, "no connection within 3s"}};
  CHECK(decide(seen).unanswered.empty());
}

TEST_CASE("MPI_Abort with code 0 is no success: it has killed ranks") {
  JobReport seen =
      report_of({rank_end(0, 0, 15, 1, true), rank_end(1, 0, 0, 2, false)}, job_end(0));
  seen.launcher_tail = abort_words("1", "MPI_COMM_WORLD", 0);
  JobOutcome outcome = decide(seen);
  CHECK(outcome.state == JobState::failed);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.cause == JobEndCause::failure);
  CHECK(outcome.reason == "rank 1 on demo-1: called MPI_Abort with error code 0");
  seen.launcher_tail.clear();
  outcome = decide(seen);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.reason == "mpirun on demo-0 reports a success, but rank 0 had been ordered to end");
  seen.ranks[0] = rank_end(0, 0, 0, 1, true);
  CHECK(decide(seen).state == JobState::succeeded);
  seen.launcher_tail = abort_words("1", "MPI_COMM_WORLD", 0);
  CHECK(decide(seen).state == JobState::failed);
}

TEST_CASE("a fatal error of MPI is a failure of its rank") {
  JobReport seen =
      report_of({rank_end(0, 0, 15, 1, true), rank_end(1, 0, 15, 2, true)}, job_end(6));
  seen.launcher_tail =
      "[n2:00262] *** An error occurred in MPI_Send\n"
      "[n2:00262] *** reported by process [428736513,1]\n"
      "[n2:00262] *** on communicator MPI_COMM_WORLD\n"
      "[n2:00262] *** MPI_ERR_RANK: invalid rank\n"
      "[n2:00262] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
      "[n2:00262] ***    and potentially your MPI job)\n";
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.exit_code == 6);
  CHECK(outcome.cause == JobEndCause::failure);
  CHECK(outcome.first_rank == 1);
  CHECK(outcome.reason == "rank 1 on demo-1: MPI_Send failed: MPI_ERR_RANK: invalid rank");
}

TEST_CASE("the reason has the essential words of mpirun as one sentence") {
  JobReport seen = report_of({}, job_end(1));
  seen.launcher_tail =
      "[n1:1] ORTE_ERROR_LOG: Data unpack would read past end of buffer in file show_help.c\n"
      "-----\nThere are not enough slots available in the system to satisfy the 4\n"
      "slots that were requested by the application:\n\n  ./m\n\nEither request fewer\n-----\n";
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 exited with 1: There are not enough slots available in the system to "
        "satisfy the 4 slots that were requested by the application");
  seen.launcher_tail = "a first remark\n\n  mpirun: symbol lookup error:\n  libmpi.so\n";
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 exited with 1: mpirun: symbol lookup error: libmpi.so");
}

TEST_CASE("the reason has the directory and the error below the sentence of mpirun") {
  JobReport seen = report_of({}, job_end(1));
  seen.launcher_tail =
      "-----\nA call to mkdir was unable to create the desired directory:\n\n"
      "  Directory: /tmp/ompi.vm.0\n  Error:     Read-only file system\n\n"
      "Please check to ensure you have adequate permissions to perform\nthe desired operation.\n"
      "-----\n[vm:1] [[1,0],0] ORTE_ERROR_LOG: Error in file session_dir.c at line 107\n"
      "-----\nIt looks like orte_init failed for some reason; your parallel process is\n-----\n";
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 exited with 1: A call to mkdir was unable to create the desired "
        "directory: Directory: /tmp/ompi.vm.0, Error: Read-only file system");
}

TEST_CASE("the reason has the call that failed at the start of mpirun") {
  JobReport seen = report_of({}, job_end(213));
  seen.launcher_tail =
      "-----\nIt looks like orte_init failed for some reason; your parallel process is\n"
      "likely to abort.  There are many reasons that a parallel process can\nfail during "
      "orte_init; some of which are due to configuration or\nenvironment problems.  This failure "
      "appears to be an internal failure;\nhere's some additional information (which may only be "
      "relevant to an\nOpen MPI developer):\n\n"
      "  orte_plm_base_select failed\n"
      "  --> Returned value Not found (-13) instead of ORTE_SUCCESS\n-----\n";
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 exited with 213: orte_init failed: orte_plm_base_select failed: Returned "
        "value Not found (-13) instead of ORTE_SUCCESS");
}

TEST_CASE("a rank that ends without MPI_Finalize is named, as mpirun does") {
  JobReport seen =
      report_of({rank_end(0, 0, 15, 2, true), rank_end(1, 0, 0, 1, false)}, job_end(1));
  seen.launcher_tail =
      "--------\nmpirun has exited due to process rank 1 with PID 0 on\nnode b exiting improperly. "
      "There are three reasons this could occur:\n";
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.first_rank == 1);
  CHECK(outcome.cause == JobEndCause::failure);
  CHECK(outcome.reason ==
        "rank 1 on demo-1: ended without MPI_Init or without MPI_Finalize, and mpirun ended the "
        "other ranks");
  for (const char* other : {"mpirun has exited due to process rank 1",
                            "has exited due to process rank x exiting improperly", ""}) {
    seen.launcher_tail = other;
    CHECK_FALSE(decide(seen).first_rank);
  }
}

TEST_CASE("an agent that finds no room for the files of a job says so by its exit code alone") {
  JobReport seen = report_of({rank_end(0, 0, 15, 2, true)}, job_end(4));
  JobOutcome outcome = decide(seen);
  CHECK(outcome.exit_code == 4);
  CHECK(outcome.cause == JobEndCause::launcher);
  CHECK_FALSE(outcome.failure);
  CHECK(outcome.reason ==
        "mpirun on demo-0: no space left on demo-1 for the files of the job (~/.fastgpu/jobs)");
  seen.ranks.clear();
  CHECK(decide(seen).reason.find("on demo-0 or demo-1 for") != std::string::npos);
  seen.launcher_tail = "Process name: [[1,1],1]\nExit code: 4\n";
  CHECK(decide(seen).reason.starts_with("rank 1: no space left on demo-1 for the files of the "));
  seen.launcher_tail = "Process name: [[1,1],1]\nExit code: 126\n";
  CHECK(
      decide(seen).reason ==
      "rank 1: the files of the job (~/.fastgpu/jobs) cannot be written on demo-1: the file system "
      "is read-only, or they belong to another user");
  // A rank that could report its end has ended so itself.
  seen.ranks = {rank_end(0, 4, 0, 2, false), rank_end(1, 0, 15, 2, true)};
  outcome = decide(seen);
  CHECK(outcome.reason == "rank 0 on demo-0: exited with 4");
  CHECK(outcome.failure);
}

TEST_CASE("a rank whose agent was killed is named, as mpirun does") {
  JobReport seen = report_of({rank_end(0, 0, 15, 2, true)}, job_end(137));
  seen.launcher_tail =
      "mpirun noticed that process rank 1 with PID 7 on node b exited on signal 9 (Killed).\n";
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.exit_code == 137);
  CHECK(outcome.cause == JobEndCause::failure);
  CHECK(outcome.reason == "rank 1 on demo-1: the agent that ran it was killed by SIGKILL");
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->signal == "SIGKILL");
  SUBCASE("by our own launcher, too") {
    seen.launcher_tail = "the agent of rank 1 has ended (137)\n";
    CHECK(decide(seen).reason == outcome.reason);
    seen.launcher_tail = "the agent of rank 1 has ended (74)\n";
    CHECK(decide(seen).exit_code == 74);
    seen.ranks.push_back(rank_end(1, 0, 15, 2, true));  // The agent's other process.
    CHECK(decide(seen).exit_code == 74);
  }
  SUBCASE("although the agent's other process has reported an end to which it was ordered") {
    seen.ranks.push_back(rank_end(1, 0, 15, 2, true));
    CHECK(decide(seen).reason == outcome.reason);
    CHECK(decide(seen).failure->node.value == "demo-1");
  }
  SUBCASE("unless another rank has failed by itself") {
    seen.ranks = {rank_end(0, 4, 0, 2, false), rank_end(1, 0, 15, 2, true)};
    CHECK(decide(seen).reason == "rank 0 on demo-0: exited with 4");
  }
  SUBCASE("a rank that was ordered to end is not") {
    seen.ranks.push_back(rank_end(1, 0, 15, 2, true));
    seen.launcher_tail =
        "mpirun noticed that process rank 1 with PID 7 on node b exited on signal 15 "
        "(Terminated).\n";
    CHECK_FALSE(decide(seen).first_rank);
  }
  SUBCASE("nor one that the job does not have") {
    seen.launcher_tail = "mpirun noticed that process rank 9 exited on signal 9 (Killed).\n";
    CHECK_FALSE(decide(seen).first_rank);
  }
}

TEST_CASE("a node is lost if what the launcher had started there is gone") {
  JobReport seen = report_of({rank_end(0, 0, 15, 2, true)}, job_end(205));
  for (const char* words :
       {"--------\nORTE has lost communication with a remote daemon.\n\n  HNP daemon   : "
        "[[28084,0],0] on node a\n  Remote daemon: [[28084,0],1] on node 10.64.1.11\n\nThis is",
        "PRTE has lost communication with a remote daemon.\n\n  HNP daemon   : [prterun-a-1@0,0] "
        "on "
        "node a\n  Remote daemon: [prterun-a-1@0,1] on node 10.64.1.11\n",
        "the connection to 10.64.1.11 has failed\n"}) {
    seen.launcher_tail = words;
    const JobOutcome outcome = decide(seen);
    CHECK(outcome.state == JobState::lost);
    CHECK(outcome.cause == JobEndCause::node_loss);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.reason == "mpirun on demo-0 has lost contact with 10.64.1.11");
    CHECK(outcome.lost.empty());
  }
  SUBCASE("by the user's name of it, so that a restart can do without it") {
    seen.names = {{"10.64.1.10", {"demo-0"}}, {"10.64.1.11", {"demo-1"}}};
    JobOutcome outcome = decide(seen);
    CHECK(outcome.reason == "mpirun on demo-0 has lost contact with demo-1");
    CHECK(outcome.lost == std::vector<NodeName>{{"demo-1"}});
    seen.launcher_tail = "the connection to demo-1 has failed\n";
    outcome = decide(seen);
    CHECK(outcome.reason == "mpirun on demo-0 has lost contact with demo-1");
    CHECK(outcome.lost == std::vector<NodeName>{{"demo-1"}});
  }
  SUBCASE("with the words of ssh, if there are any") {
    seen.launcher_tail =
        "x\nthe connection to n1 has failed: /h/ssh_config line 10: invalid quotes\nmore";
    CHECK(decide(seen).reason ==
          "mpirun on demo-0 has lost contact with n1: /h/ssh_config line 10: invalid quotes");
  }
  SUBCASE("unless a rank has failed by itself before") {
    seen.ranks.push_back(rank_end(1, 3, 0, 1, false));
    CHECK(decide(seen).reason == "rank 1 on demo-1: exited with 3");
  }
  SUBCASE("words that name no node are shown as they are") {
    for (const char* other : {"the connection to ", "has lost communication with a remote daemon",
                              "the connection to \x1b[2J has failed"}) {
      seen.launcher_tail = other;
      CHECK(decide(seen).cause == JobEndCause::launcher);
    }
  }
}

TEST_CASE("reports of mpirun that it passes our orders on are left out of its words") {
  constexpr const char* kReport = "mpirun: Forwarding signal 23 to job";
  CHECK(without_forwarding_reports("a\n" + std::string(kReport) + "\n" + kReport + "\nb") ==
        "a\nb");
  CHECK(without_forwarding_reports(kReport).empty());
  CHECK(without_forwarding_reports("Forwarding signal 23 to job\n\n") ==
        "Forwarding signal 23 to job\n\n");
  JobReport seen = report_of({}, job_end(1));
  seen.launcher_tail = std::string(kReport) + "\nsymbol lookup error\n" + kReport;
  CHECK(decide(seen).reason == "mpirun on demo-0 exited with 1: symbol lookup error");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
