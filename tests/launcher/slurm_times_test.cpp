#include "launcher/engines/slurm_times.hpp"

#include <doctest/doctest.h>

#include <string>

#include "launcher/engines/slurm.hpp"
#include "launcher/job_report.hpp"

namespace fastgpu::launcher {
namespace {

TEST_SUITE_BEGIN("launcher/engines/slurm_times");

TEST_CASE("the times of a job are read by their age, since the head may have another clock") {
  using std::chrono::seconds;
  const auto seen_at = [](const std::string& text) {
    SlurmJob job = parse_slurm_job(text);
    job.answered = state::TimePoint(seconds(9'000));
    return job;
  };
  const std::string times = " ExitCode=0:0 StartTime=1000 EndTime=1002 NodeList=n1\nclock 1012\n";
  const SlurmJob over = seen_at("scontrol\nJobId=7 JobState=COMPLETED" + times);
  CHECK(beginning_of(over) == state::TimePoint(seconds(8'988)));
  CHECK(end_of(over) == state::TimePoint(seconds(8'990)));
  CHECK(slurm_job_end(over, 1).ended == 8'990'000'000'000);
  CHECK(decide_slurm({}, over).ended == state::TimePoint(seconds(8'990)));
  CHECK(decide_slurm({}, over).began == state::TimePoint(seconds(8'988)));
  const SlurmJob running = seen_at("scontrol\nJobId=7 JobState=RUNNING" + times);
  CHECK(beginning_of(running) == state::TimePoint(seconds(8'988)));
  CHECK_FALSE(end_of(running));  // The end that its time limit allows.
  CHECK_FALSE(beginning_of(seen_at("scontrol\nJobId=7 JobState=PENDING" + times)));
  CHECK_FALSE(beginning_of(seen_at("scontrol\nJobId=7 JobState=RUNNING Restarts=1" + times)));
  CHECK(end_of(seen_at("sacct\n7|FAILED|1:0|n1|1000|1002\nclock 1012\n")) ==
        state::TimePoint(seconds(8'990)));
  CHECK(end_of(seen_at("batch\n3 n1\nended 1002\nclock 1012\n")) ==
        state::TimePoint(seconds(8'990)));
  for (const char* end : {"Unknown", "2026-11-29T21:26:51", "1013", "-5", "99999999999999", ""})
    CHECK_FALSE_MESSAGE(end_of(seen_at("scontrol\nJobId=7 JobState=FAILED ExitCode=1:0 EndTime=" +
                                       std::string(end) + " NodeList=n1\nclock 1012\n")),
                        end);
  CHECK_FALSE(end_of(seen_at("batch\n0 n1\n")));
}

TEST_CASE("a job whose time Slurm does not know has ended with its last rank") {
  JobReport report;
  report.placement = {{.node = {"login"}, .first = 0, .count = 2}};
  report.ranks = {test::rank_end(0, 0, 0, 20, false), test::rank_end(1, 0, 0, 10, false)};
  report.launcher = test::job_end(0);
  report.launcher->ended = 90;
  CHECK(decide_slurm(report, forgotten_slurm_job()).ended ==
        state::TimePoint(std::chrono::nanoseconds(20)));
  SlurmJob over = forgotten_slurm_job();
  over.ended_for = std::chrono::seconds(1);
  over.answered = state::TimePoint(std::chrono::seconds(61));
  CHECK(decide_slurm(report, over).ended == state::TimePoint(std::chrono::nanoseconds(20)));
  report.ranks.pop_back();
  CHECK(decide_slurm(report, over).ended == state::TimePoint(std::chrono::seconds(60)));
  CHECK(decide_slurm(report, forgotten_slurm_job()).ended ==
        state::TimePoint(std::chrono::nanoseconds(90)));
  report.launcher.reset();
  CHECK_FALSE(decide_slurm(report, forgotten_slurm_job()).ended);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
