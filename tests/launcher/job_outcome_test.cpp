#include "launcher/job_outcome.hpp"

#include <doctest/doctest.h>

#include <chrono>

namespace fastgpu::launcher {
namespace {

using agent::JobEnd;
using agent::RankEnd;
using agent::StopCause;
using state::JobState;

RankEnd rank(int number, int code, int signal, std::int64_t ended, bool told) {
  RankEnd end;
  end.rank = number;
  end.how = {.code = code, .signal = signal};
  end.ended = ended;
  end.told = told;
  return end;
}

JobEnd job(int code, int signal = 0, StopCause cause = StopCause::none) {
  JobEnd end;
  end.how = {.code = code, .signal = signal};
  end.cause = cause;
  return end;
}

/// Two ranks on two nodes.
JobReport report(std::vector<RankEnd> ranks, std::optional<JobEnd> launcher) {
  JobReport seen;
  seen.placement = {{{"demo-0"}, 0, 1}, {{"demo-1"}, 1, 1}};
  seen.ranks = std::move(ranks);
  seen.launcher = std::move(launcher);
  seen.timeout = std::chrono::minutes(10);
  seen.lease = std::chrono::seconds(30);
  return seen;
}

TEST_SUITE_BEGIN("launcher/job_outcome");

TEST_CASE("all well is 0 without a word") {
  const JobOutcome outcome =
      decide(report({rank(0, 0, 0, 1, false), rank(1, 0, 0, 2, false)}, job(0)));
  CHECK(outcome.state == JobState::succeeded);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.reason.empty());
}

TEST_CASE("the first rank that failed by itself decides, not those ended after it") {
  const JobOutcome outcome =
      decide(report({rank(0, 0, 15, 5, true), rank(1, 0, 11, 7, false)}, job(139)));
  CHECK(outcome.state == JobState::failed);
  CHECK(outcome.exit_code == 139);
  CHECK(outcome.reason == "rank 1 on demo-1: killed by SIGSEGV");
  CHECK(outcome.first_rank == 1);
  CHECK(decide(report({rank(0, 3, 0, 9, false), rank(1, 4, 0, 7, false)}, job(3))).exit_code == 4);
}

TEST_CASE(
    "a rank that blames another one is the cause only if no rank that blames none has failed") {
  struct Blames {
    int code, by;  ///< The exit code, and the rank that it blames; -1: none.
    bool is_told = false;
  };
  struct Row {
    const char* what;
    std::vector<Blames> ends;  ///< By rank, in the order in which the ranks ended.
    int culprit;
  };
  const Row rows[] = {
      {"nobody blames: the earliest", {{4, -1}, {3, -1}}, 0},
      {"the culprit ends last", {{1, 2}, {1, 2}, {3, -1}}, 2},
      {"the victims were told by another victim", {{1, 2}, {1, 0}, {3, -1}}, 2},
      {"the earliest that blames nobody", {{1, 1}, {3, -1}, {4, -1}}, 1},
      {"the culprit has not reported its end", {{1, 3}, {2, 3}}, 0},
      {"the culprit ended well", {{1, 2}, {2, 2}, {0, -1}}, 0},
      {"the culprit was told to end", {{1, 2}, {2, 2}, {3, -1, true}}, 0},
      {"the culprit blames a victim", {{1, 2}, {1, 2}, {3, 0}}, 2},
      {"two blame each other", {{1, 1}, {2, 0}}, 0},
      {"three blame each other in a circle", {{1, 1}, {2, 2}, {3, 0}}, 0},
      {"one rank alone", {{5, 7}}, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    JobReport seen = report({}, job(1));
    seen.placement = {{{"demo-0"}, 0, 4}};
    int number = 0;
    for (const Blames& end : row.ends) {
      RankEnd one = rank(number, end.code, 0, 10 + number, end.is_told);
      if (end.by >= 0) one.blames = end.by;
      seen.ranks.insert(seen.ranks.begin(), one);
      ++number;
    }
    const JobOutcome outcome = decide(seen);
    CHECK(outcome.first_rank == row.culprit);
    CHECK(outcome.exit_code == row.ends[static_cast<std::size_t>(row.culprit)].code);
  }
}

TEST_CASE("a rank that others wait for in vain is named, though it had to be ended") {
  JobReport seen = report({rank(0, 5, 0, 5, false), rank(1, 0, SIGKILL, 7, true)}, job(5));
  seen.ranks[0].blames = 1;
  CHECK(decide(seen).reason ==
        "rank 0 on demo-0: exited with 5, because of rank 1 on demo-1, which was still running");
  CHECK(decide(seen).first_rank == 0);
}

TEST_CASE("a rank that ended well while others needed it is named with the first that failed") {
  JobReport seen = report({rank(0, 0, 0, 5, false), rank(1, 5, 0, 7, false)}, job(5));
  seen.ranks[1].blames = 0;
  CHECK(decide(seen).reason ==
        "rank 1 on demo-1: exited with 5, because rank 0 on demo-0 had ended before (exit code 0)");
  seen.ranks[0].told = true;
  CHECK(decide(seen).reason ==
        "rank 1 on demo-1: exited with 5, because of rank 0 on demo-0, which was still running");
}

TEST_CASE("a launcher that fails beside a full directory of temporary files names it") {
  JobReport seen = report({}, job(213));
  seen.launcher_tail = "PMIX_ERR_FILE_WRITE_FAILURE";
  const std::string why = "No space left on device";
  seen.temporary_faults = {{{"demo-0"}, "/tmp", why}, {{"demo-1"}, "/tmp", why}};
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.exit_code == 213);
  CHECK(outcome.reason ==
        "mpirun on demo-0 exited with 213; no space left on demo-0: /tmp, demo-1: /tmp: "
        "PMIX_ERR_FILE_WRITE_FAILURE");
  seen.temporary_faults = {{{"demo-1"}, "/scratch", "Read-only file system"}};
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 exited with 213; /scratch on demo-1 cannot be written: Read-only file "
        "system: PMIX_ERR_FILE_WRITE_FAILURE");
}

TEST_CASE("a rank that the kernel killed for its memory says so") {
  RankEnd killed = rank(1, 0, 9, 7, false);
  killed.out_of_memory = true;
  const JobOutcome outcome = decide(report({rank(0, 0, 15, 9, true), killed}, job(137)));
  CHECK(outcome.exit_code == 137);
  CHECK(outcome.reason == "rank 1 on demo-1: killed by SIGKILL (out of memory)");
  REQUIRE(outcome.failure.has_value());
  CHECK(outcome.failure->rank == 1);
  CHECK(outcome.failure->node.value == "demo-1");
  CHECK(outcome.failure->signal == "SIGKILL");
  CHECK(outcome.failure->out_of_memory);
}

TEST_CASE("the first failure has all that is known of it as fields") {
  RankEnd failed = rank(1, 3, 0, 7, false);
  failed.full = "/jobs/x-1/ranks";
  failed.last_lines = {"reading data.bin", "no space"};
  JobReport seen = report({rank(0, 0, 15, 9, true), failed}, job(3));
  seen.full_disks = {{{"demo-1"}, "/jobs/x-1/ranks"}};
  const JobOutcome outcome = decide(seen);
  REQUIRE(outcome.failure.has_value());
  CHECK(outcome.failure->exit_code == 3);
  CHECK(outcome.failure->signal.empty());
  CHECK(outcome.failure->full_disk == "/jobs/x-1/ranks");
  CHECK(outcome.failure->last_lines == failed.last_lines);
  REQUIRE(outcome.full_disks.size() == 1);
  CHECK(outcome.full_disks[0].node.value == "demo-1");
  CHECK(decide(report({rank(0, 0, 9, 1, false)}, job(137))).failure->exit_code == 137);
}

TEST_CASE("a full disk is reported of a job that ends well, too") {
  JobReport seen = report({rank(0, 0, 0, 1, false), rank(1, 0, 0, 2, false)}, job(0));
  seen.full_disks = {{{"demo-1"}, "/jobs/x-1/ranks"}};
  CHECK(decide(seen).state == JobState::succeeded);
  CHECK(decide(seen).full_disks.size() == 1);
}

TEST_CASE("a job has ended once its last rank has") {
  JobReport report;
  CHECK_FALSE(last_end(report));
  report.ranks.resize(2);
  report.ranks[0].ended = 7'000'000'000;
  report.ranks[1].ended = 5'000'000'000;
  CHECK(last_end(report) == state::TimePoint(std::chrono::seconds(7)));
}

TEST_CASE("a clock that is minutes apart is corrected, and what may be a slow message is not") {
  constexpr std::int64_t kMinute = 60'000'000'000;
  CHECK(on_our_clock(5 * kMinute, 3 * kMinute) == 2 * kMinute);
  CHECK(on_our_clock(5 * kMinute, -3 * kMinute) == 8 * kMinute);
  CHECK(on_our_clock(5 * kMinute, -400'000'000) == 5 * kMinute);
  CHECK(on_our_clock(5 * kMinute, std::nullopt) == 5 * kMinute);
}

TEST_CASE("a full disk is named beside how the rank ended") {
  RankEnd full = rank(1, 1, 0, 7, false);
  full.full = "/root/.fastgpu/jobs/x-1/ranks";
  CHECK(decide(report({full}, job(1))).reason ==
        "rank 1 on demo-1: exited with 1; no space left on demo-1: /root/.fastgpu/jobs/x-1/ranks");
}

TEST_CASE("a program that is not there is said in the agent's words") {
  RankEnd missing = rank(1, 127, 0, 1, false);
  missing.reason = "trian: No such file or directory";
  const JobOutcome outcome = decide(report({missing}, job(127)));
  CHECK(outcome.exit_code == 127);
  CHECK(outcome.reason == "rank 1 on demo-1: trian: No such file or directory");
}

TEST_CASE("whatever made the job end comes before what its ranks did then") {
  const auto stopped = [](StopCause cause) {
    return decide(report({rank(1, 1, 0, 1, false)}, job(0, 15, cause)));
  };
  CHECK(stopped(StopCause::timeout).exit_code == 124);
  CHECK(stopped(StopCause::timeout).reason == "ran longer than 10m");
  CHECK(stopped(StopCause::request).state == JobState::cancelled);
  CHECK(stopped(StopCause::request).exit_code == 130);
  CHECK(stopped(StopCause::lease).state == JobState::lost);
  CHECK(stopped(StopCause::vanished).reason.find("the supervisor on demo-0 vanished") == 0);
}

TEST_CASE("a lost node is named") {
  JobReport seen = report({rank(0, 1, 0, 1, false)}, std::nullopt);
  seen.lost = {{{"demo-1"}, "connection refused"}};
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.state == JobState::lost);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.reason == "lost contact with demo-1: connection refused");
  CHECK(outcome.lost == std::vector<NodeName>{{"demo-1"}});
}

TEST_CASE("a node that the first one has lost is named") {
  JobEnd cut = job(0, 15, StopCause::cut_off);
  cut.cut_off = 1;
  const JobOutcome outcome = decide(report({rank(0, 0, 15, 1, true)}, cut));
  CHECK(outcome.state == JobState::lost);
  CHECK(outcome.cause == JobEndCause::node_loss);
  CHECK(outcome.reason ==
        "lost contact with demo-1: it did not answer demo-0, the first node of the job, for 9s");
  CHECK(outcome.lost == std::vector<NodeName>{{"demo-1"}});
  const JobEnd read = agent::parse_job_end(to_text(cut));
  CHECK(read.cause == StopCause::cut_off);
  CHECK(read.cut_off == 1);
}

TEST_CASE("a cancel is 130, whatever else was seen") {
  JobReport seen = report({rank(0, 1, 0, 1, false)}, job(1));
  seen.cancelled = true;
  CHECK(decide(seen).exit_code == 130);
  CHECK(decide(seen).state == JobState::cancelled);
}

TEST_CASE("a job of which an order has ended ranks before it came to mpirun's node is cancelled") {
  JobEnd ordered = job(7);
  ordered.ordered = true;
  const RankEnd first_ordered = rank(1, 7, 0, 5, true);
  const RankEnd first_failed = rank(1, 7, 0, 5, false);
  const RankEnd victim = rank(0, 5, 0, 6, false);
  CHECK(decide(report({first_ordered, victim}, ordered)).state == JobState::cancelled);
  CHECK(decide(report({first_ordered}, ordered)).state == JobState::cancelled);
  CHECK(decide(report({}, ordered)).state == JobState::cancelled);
  CHECK(decide(report({first_failed, victim}, ordered)).first_rank == 1);
  CHECK(decide(report({first_ordered, victim}, job(7))).first_rank == 0);
  CHECK(may_be_cancelled(report({first_ordered, victim}, job(7))));
  CHECK(may_be_cancelled(report({rank(1, 0, 0, 1, false)}, job(205))));
  CHECK(!may_be_cancelled(report({first_failed, rank(0, 143, 0, 6, true)}, job(7))));
  CHECK(!may_be_cancelled(report({}, job(0))));
  CHECK(!may_be_cancelled(report({}, job(7, 0, StopCause::timeout))));
  CHECK(!may_be_cancelled(report({}, std::nullopt)));
}

TEST_CASE("where mpirun itself is what failed, its last words are shown") {
  JobReport seen = report({}, job(1));
  seen.launcher_tail = "ORTE was unable to start a daemon on demo-1";
  CHECK(decide(seen).reason ==
        "mpirun on demo-0 exited with 1: ORTE was unable to start a daemon on demo-1");
  JobEnd missing = job(127);
  missing.reason = "/usr/bin/mpirun: No such file or directory";
  CHECK(decide(report({}, missing)).reason ==
        "mpirun could not be started on demo-0: /usr/bin/mpirun: No such file or directory");
  CHECK(decide(report({rank(0, 0, 0, 1, false)}, job(0, 9))).exit_code == 137);
}

TEST_CASE(
    "daemons that mpirun cannot start are one sentence with the command that finds the cause") {
  constexpr const char* kText =
      "--------------------------------------------------------------------------\n"
      "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n"
      "* not finding the required libraries and/or binaries on\n  one or more nodes.\n";
  JobReport seen = report({}, job(255));
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

TEST_CASE("a node that does not begin is named, with the reason") {
  JobReport seen = report({}, job(1));
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
  JobReport seen = report({rank(0, 0, 15, 1, true), rank(1, 0, 15, 2, true)}, job(7));
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
    seen.ranks[1] = rank(1, 7, 0, 2, false);
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
    seen.ranks[0] = rank(0, 3, 0, 1, false);
    CHECK(decide(seen).reason == "rank 0 on demo-0: exited with 3");
  }
}

TEST_CASE("MPI_Abort with code 0 is no success: it has killed ranks") {
  JobReport seen = report({rank(0, 0, 15, 1, true), rank(1, 0, 0, 2, false)}, job(0));
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
  seen.ranks[0] = rank(0, 0, 0, 1, true);
  CHECK(decide(seen).state == JobState::succeeded);
  seen.launcher_tail = abort_words("1", "MPI_COMM_WORLD", 0);
  CHECK(decide(seen).state == JobState::failed);
}

TEST_CASE("a fatal error of MPI is a failure of its rank") {
  JobReport seen = report({rank(0, 0, 15, 1, true), rank(1, 0, 15, 2, true)}, job(6));
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
  JobReport seen = report({}, job(1));
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
  JobReport seen = report({}, job(1));
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

TEST_CASE("a rank that ends without MPI_Finalize is named, as mpirun does") {
  JobReport seen = report({rank(0, 0, 15, 2, true), rank(1, 0, 0, 1, false)}, job(1));
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
  JobReport seen = report({rank(0, 0, 15, 2, true)}, job(4));
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
  seen.ranks = {rank(0, 4, 0, 2, false), rank(1, 0, 15, 2, true)};
  outcome = decide(seen);
  CHECK(outcome.reason == "rank 0 on demo-0: exited with 4");
  CHECK(outcome.failure);
}

TEST_CASE("a rank whose agent was killed is named, as mpirun does") {
  JobReport seen = report({rank(0, 0, 15, 2, true)}, job(137));
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
    seen.ranks.push_back(rank(1, 0, 15, 2, true));  // The agent's other process.
    CHECK(decide(seen).exit_code == 74);
  }
  SUBCASE("a rank that has reported its own end is not") {
    seen.ranks.push_back(rank(1, 0, 15, 2, true));
    CHECK_FALSE(decide(seen).first_rank);
  }
  SUBCASE("nor one that the job does not have") {
    seen.launcher_tail = "mpirun noticed that process rank 9 exited on signal 9 (Killed).\n";
    CHECK_FALSE(decide(seen).first_rank);
  }
}

TEST_CASE("a node is lost if what the launcher had started there is gone") {
  JobReport seen = report({rank(0, 0, 15, 2, true)}, job(205));
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
  }
  SUBCASE("with the words of ssh, if there are any") {
    seen.launcher_tail =
        "x\nthe connection to n1 has failed: /h/ssh_config line 10: invalid quotes\nmore";
    CHECK(decide(seen).reason ==
          "mpirun on demo-0 has lost contact with n1: /h/ssh_config line 10: invalid quotes");
  }
  SUBCASE("unless a rank has failed by itself before") {
    seen.ranks.push_back(rank(1, 3, 0, 1, false));
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

TEST_CASE("an end that nobody saw is not called a success") {
  CHECK(decide(report({rank(0, 0, 0, 1, false)}, std::nullopt)).state == JobState::lost);
}

TEST_CASE("a job hangs if all ranks that run are idle, and then its ranks are named") {
  const std::vector<NodeRanks> placement = {{{"demo-0"}, 0, 3}, {{"demo-1"}, 3, 2}};
  CHECK(is_hanging(placement, {}, {0, 1, 2, 3, 4}));
  CHECK(is_hanging(placement, {1, 4}, {0, 2, 3}));
  CHECK_FALSE(is_hanging(placement, {}, {0, 1, 2, 3}));
  CHECK_FALSE(is_hanging(placement, {0, 1, 2, 3, 4}, {}));
  CHECK_FALSE(is_hanging(placement, {}, {}));
  CHECK(rank_list({0, 1, 2, 4, 7, 8}) == "0-2, 4, 7-8");
  CHECK(rank_list({}).empty());
  JobReport seen = report({rank(0, 0, 15, 5, true)}, job(0, 15, StopCause::request));
  seen.hanging = {0, 1};
  seen.hang_timeout = std::chrono::minutes(10);
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.state == JobState::failed);
  CHECK(outcome.exit_code == 124);
  CHECK(outcome.cause == JobEndCause::hang);
  CHECK(outcome.reason == "ranks 0-1 hung: no output, processor time or traffic for 10m");
}

TEST_CASE("the cause of an end is a word of its own") {
  const auto stopped = [](StopCause cause) { return decide(report({}, job(0, 15, cause))).cause; };
  CHECK(decide(report({rank(0, 0, 0, 1, false), rank(1, 0, 0, 2, false)}, job(0))).cause ==
        JobEndCause::none);
  CHECK(decide(report({rank(1, 3, 0, 1, false)}, job(3))).cause == JobEndCause::failure);
  CHECK(decide(report({}, job(1))).cause == JobEndCause::launcher);
  CHECK(stopped(StopCause::timeout) == JobEndCause::timeout);
  CHECK(stopped(StopCause::request) == JobEndCause::cancelled);
  CHECK(stopped(StopCause::lease) == JobEndCause::contact);
  CHECK(stopped(StopCause::vanished) == JobEndCause::node_loss);
  JobReport seen = report({rank(0, 1, 0, 1, false)}, job(1));
  seen.unreached = {{"demo-1"}};
  CHECK(decide(seen).cause == JobEndCause::node_loss);
  CHECK(decide(seen).exit_code == 1);
  CHECK(decide(seen).lost == std::vector<NodeName>{{"demo-1"}});
  seen.lost = {{{"demo-1"}, "gone"}};
  CHECK(decide(seen).cause == JobEndCause::node_loss);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
