#include "launcher/job_outcome.hpp"

#include <doctest/doctest.h>

#include <chrono>

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

TEST_SUITE_BEGIN("launcher/job_outcome");

TEST_CASE("all well is 0 without a word") {
  const JobOutcome outcome =
      decide(report_of({rank_end(0, 0, 0, 1, false), rank_end(1, 0, 0, 2, false)}, job_end(0)));
  CHECK(outcome.state == JobState::succeeded);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.reason.empty());
}

TEST_CASE("the first rank that failed by itself decides, not those ended after it") {
  const JobOutcome outcome =
      decide(report_of({rank_end(0, 0, 15, 5, true), rank_end(1, 0, 11, 7, false)}, job_end(139)));
  CHECK(outcome.state == JobState::failed);
  CHECK(outcome.exit_code == 139);
  CHECK(outcome.reason == "rank 1 on demo-1: killed by SIGSEGV");
  CHECK(outcome.first_rank == 1);
  CHECK(decide(report_of({rank_end(0, 3, 0, 9, false), rank_end(1, 4, 0, 7, false)}, job_end(3)))
            .exit_code == 4);
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
    JobReport seen = report_of({}, job_end(1));
    seen.placement = {{{"demo-0"}, 0, 4}};
    int number = 0;
    for (const Blames& end : row.ends) {
      RankEnd one = rank_end(number, end.code, 0, 10 + number, end.is_told);
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
  JobReport seen =
      report_of({rank_end(0, 5, 0, 5, false), rank_end(1, 0, SIGKILL, 7, true)}, job_end(5));
  seen.ranks[0].blames = 1;
  CHECK(decide(seen).reason ==
        "rank 0 on demo-0: exited with 5, because of rank 1 on demo-1, which was still running");
  CHECK(decide(seen).first_rank == 0);
}

TEST_CASE("a rank that ended well while others needed it is named with the first that failed") {
  JobReport seen =
      report_of({rank_end(0, 0, 0, 5, false), rank_end(1, 5, 0, 7, false)}, job_end(5));
  seen.ranks[1].blames = 0;
  CHECK(decide(seen).reason ==
        "rank 1 on demo-1: exited with 5, because rank 0 on demo-0 had ended before (exit code 0)");
  seen.ranks[0].told = true;
  CHECK(decide(seen).reason ==
        "rank 1 on demo-1: exited with 5, because of rank 0 on demo-0, which was still running");
}

TEST_CASE("a launcher that fails beside a full directory of temporary files names it") {
  JobReport seen = report_of({}, job_end(213));
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
  RankEnd killed = rank_end(1, 0, 9, 7, false);
  killed.out_of_memory = true;
  const JobOutcome outcome = decide(report_of({rank_end(0, 0, 15, 9, true), killed}, job_end(137)));
  CHECK(outcome.exit_code == 137);
  CHECK(outcome.reason == "rank 1 on demo-1: killed by SIGKILL (out of memory)");
  REQUIRE(outcome.failure.has_value());
  CHECK(outcome.failure->rank == 1);
  CHECK(outcome.failure->node.value == "demo-1");
  CHECK(outcome.failure->signal == "SIGKILL");
  CHECK(outcome.failure->out_of_memory);
}

TEST_CASE("the first failure has all that is known of it as fields") {
  RankEnd failed = rank_end(1, 3, 0, 7, false);
  failed.full = "/jobs/x-1/ranks";
  failed.last_lines = {"reading data.bin", "no space"};
  JobReport seen = report_of({rank_end(0, 0, 15, 9, true), failed}, job_end(3));
  seen.full_disks = {{{"demo-1"}, "/jobs/x-1/ranks"}};
  const JobOutcome outcome = decide(seen);
  REQUIRE(outcome.failure.has_value());
  CHECK(outcome.failure->exit_code == 3);
  CHECK(outcome.failure->signal.empty());
  CHECK(outcome.failure->full_disk == "/jobs/x-1/ranks");
  CHECK(outcome.failure->last_lines == failed.last_lines);
  REQUIRE(outcome.full_disks.size() == 1);
  CHECK(outcome.full_disks[0].node.value == "demo-1");
  CHECK(decide(report_of({rank_end(0, 0, 9, 1, false)}, job_end(137))).failure->exit_code == 137);
}

TEST_CASE("a full disk is reported of a job that ends well, too") {
  JobReport seen =
      report_of({rank_end(0, 0, 0, 1, false), rank_end(1, 0, 0, 2, false)}, job_end(0));
  seen.full_disks = {{{"demo-1"}, "/jobs/x-1/ranks"}};
  CHECK(decide(seen).state == JobState::succeeded);
  CHECK(decide(seen).full_disks.size() == 1);
}

TEST_CASE("a job has ended once its last rank has") {
  using std::chrono::seconds;
  JobReport report =
      report_of({rank_end(0, 0, 0, 5, false), rank_end(1, 0, 0, 7, false)}, job_end(0));
  report.ranks[0].ended = 7'000'000'000;
  report.ranks[1].ended = 5'000'000'000;
  report.launcher->ended = 8'000'000'000;
  CHECK(last_end(report) == state::TimePoint(seconds(7)));
  CHECK(decide(report).ended == state::TimePoint(seconds(7)));
}

TEST_CASE("a job whose ranks have not all reported their end has ended with its launcher") {
  using std::chrono::seconds;
  JobReport report = report_of({rank_end(0, 0, 0, 7, false)}, job_end(0));
  report.ranks[0].ended = 7'000'000'000;
  report.launcher->ended = 8'000'000'000;
  CHECK(decide(report).ended == state::TimePoint(seconds(8)));
  report.launcher->ended = 6'000'000'000;
  CHECK(decide(report).ended == state::TimePoint(seconds(7)));
  report.launcher->cause = agent::StopCause::vanished;  // The time is that of the question.
  CHECK_FALSE(decide(report).ended);
  report.launcher.reset();
  CHECK_FALSE(decide(report).ended);
}

TEST_CASE("a clock that is minutes apart is corrected, and what may be a slow message is not") {
  constexpr std::int64_t kMinute = 60'000'000'000;
  CHECK(on_our_clock(5 * kMinute, 3 * kMinute) == 2 * kMinute);
  CHECK(on_our_clock(5 * kMinute, -3 * kMinute) == 8 * kMinute);
  CHECK(on_our_clock(5 * kMinute, -400'000'000) == 5 * kMinute);
  CHECK(on_our_clock(5 * kMinute, std::nullopt) == 5 * kMinute);
}

TEST_CASE("a full disk is named beside how the rank ended") {
  RankEnd full = rank_end(1, 1, 0, 7, false);
  full.full = "/root/.fastgpu/jobs/x-1/ranks";
  CHECK(decide(report_of({full}, job_end(1))).reason ==
        "rank 1 on demo-1: exited with 1; no space left on demo-1: /root/.fastgpu/jobs/x-1/ranks");
}

TEST_CASE("a program that is not there is said in the agent's words") {
  RankEnd missing = rank_end(1, 127, 0, 1, false);
  missing.reason = "trian: No such file or directory";
  const JobOutcome outcome = decide(report_of({missing}, job_end(127)));
  CHECK(outcome.exit_code == 127);
  CHECK(outcome.reason == "rank 1 on demo-1: trian: No such file or directory");
}

TEST_CASE("whatever made the job end comes before what its ranks did then") {
  const auto stopped = [](StopCause cause) {
    return decide(report_of({rank_end(1, 1, 0, 1, false)}, job_end(0, 15, cause)));
  };
  CHECK(stopped(StopCause::timeout).exit_code == 124);
  CHECK(stopped(StopCause::timeout).reason == "ran longer than 10m");
  CHECK(stopped(StopCause::request).state == JobState::cancelled);
  CHECK(stopped(StopCause::request).exit_code == 130);
  CHECK(stopped(StopCause::lease).state == JobState::lost);
  CHECK(stopped(StopCause::vanished).reason.find("the supervisor on demo-0 vanished") == 0);
}

TEST_CASE("a lost node is named") {
  JobReport seen = report_of({rank_end(0, 1, 0, 1, false)}, std::nullopt);
  seen.lost = {{{"demo-1"}, "connection refused"}};
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.state == JobState::lost);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.reason == "lost contact with demo-1: connection refused");
  CHECK(outcome.lost == std::vector<NodeName>{{"demo-1"}});
}

TEST_CASE("a node that the first one has lost is named") {
  JobEnd cut = job_end(0, 15, StopCause::cut_off);
  cut.cut_off = 1;
  const JobOutcome outcome = decide(report_of({rank_end(0, 0, 15, 1, true)}, cut));
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
  JobReport seen = report_of({rank_end(0, 1, 0, 1, false)}, job_end(1));
  seen.cancelled = true;
  CHECK(decide(seen).exit_code == 130);
  CHECK(decide(seen).state == JobState::cancelled);
}

TEST_CASE("a job of which an order has ended ranks before it came to mpirun's node is cancelled") {
  JobEnd ordered = job_end(7);
  ordered.ordered = true;
  const RankEnd first_ordered = rank_end(1, 7, 0, 5, true);
  const RankEnd first_failed = rank_end(1, 7, 0, 5, false);
  const RankEnd victim = rank_end(0, 5, 0, 6, false);
  CHECK(decide(report_of({first_ordered, victim}, ordered)).state == JobState::cancelled);
  CHECK(decide(report_of({first_ordered}, ordered)).state == JobState::cancelled);
  CHECK(decide(report_of({}, ordered)).state == JobState::cancelled);
  CHECK(decide(report_of({first_failed, victim}, ordered)).first_rank == 1);
  CHECK(decide(report_of({first_ordered, victim}, job_end(7))).first_rank == 0);
  CHECK(may_be_cancelled(report_of({first_ordered, victim}, job_end(7))));
  CHECK(may_be_cancelled(report_of({rank_end(1, 0, 0, 1, false)}, job_end(205))));
  CHECK(!may_be_cancelled(report_of({first_failed, rank_end(0, 143, 0, 6, true)}, job_end(7))));
  CHECK(!may_be_cancelled(report_of({}, job_end(0))));
  CHECK(!may_be_cancelled(report_of({}, job_end(7, 0, StopCause::timeout))));
  CHECK(!may_be_cancelled(report_of({}, std::nullopt)));
}

TEST_CASE("an end that nobody saw is not called a success") {
  CHECK(decide(report_of({rank_end(0, 0, 0, 1, false)}, std::nullopt)).state == JobState::lost);
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
  JobReport seen = report_of({rank_end(0, 0, 15, 5, true)}, job_end(0, 15, StopCause::request));
  seen.hanging = {0, 1};
  seen.hang_timeout = std::chrono::minutes(10);
  const JobOutcome outcome = decide(seen);
  CHECK(outcome.state == JobState::failed);
  CHECK(outcome.exit_code == 124);
  CHECK(outcome.cause == JobEndCause::hang);
  CHECK(outcome.reason == "ranks 0-1 hung: no output, processor time or traffic for 10m");
}

TEST_CASE("the cause of an end is a word of its own") {
  const auto stopped = [](StopCause cause) {
    return decide(report_of({}, job_end(0, 15, cause))).cause;
  };
  CHECK(decide(report_of({rank_end(0, 0, 0, 1, false), rank_end(1, 0, 0, 2, false)}, job_end(0)))
            .cause == JobEndCause::none);
  CHECK(decide(report_of({rank_end(1, 3, 0, 1, false)}, job_end(3))).cause == JobEndCause::failure);
  CHECK(decide(report_of({}, job_end(1))).cause == JobEndCause::launcher);
  CHECK(stopped(StopCause::timeout) == JobEndCause::timeout);
  CHECK(stopped(StopCause::request) == JobEndCause::cancelled);
  CHECK(stopped(StopCause::lease) == JobEndCause::contact);
  CHECK(stopped(StopCause::vanished) == JobEndCause::node_loss);
  JobReport seen = report_of({rank_end(0, 1, 0, 1, false)}, job_end(1));
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
