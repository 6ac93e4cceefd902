#include "cli/commands/job/junit.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

using state::JobState;

JobAndCluster job(const std::string& id, JobState state, int code, const std::string& reason) {
  state::Job job;
  job.id = id;
  job.state = state;
  job.created = state::TimePoint(std::chrono::seconds(1'000));
  const bool has_ended = state != JobState::running;
  if (has_ended) job.ended = job.created + std::chrono::milliseconds(2'500);
  if (has_ended) job.exit_code = code;
  job.reason = reason;
  return {job, "demo"};
}

TEST_SUITE_BEGIN("cli/junit");

TEST_CASE("each job is a case: failures have their reason, and unfinished ones are errors") {
  const std::vector<JobAndCluster> jobs = {
      job("good-1", JobState::succeeded, 0, ""),
      job("bad-1", JobState::failed, 3, "rank 1 on demo-1: <\"a\" & b>\n\x01\xff"),
      job("runs-1", JobState::running, 0, "")};
  const auto now = state::TimePoint(std::chrono::seconds(1'004));
  const std::string report = junit_report(jobs, now);
  CHECK(report ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"fastgpu\" tests=\"3\" failures=\"1\" errors=\"1\" time=\"9.000\">\n"
        "  <testcase classname=\"demo\" name=\"good-1\" time=\"2.500\"/>\n"
        "  <testcase classname=\"demo\" name=\"bad-1\" time=\"2.500\">\n"
        "    <failure type=\"failed\" message=\"rank 1 on demo-1: &lt;&quot;a&quot; &amp; "
        "b&gt;&#10;\\x01\\xff\">exit code 3</failure>\n"
        "  </testcase>\n"
        "  <testcase classname=\"demo\" name=\"runs-1\" time=\"4.000\">\n"
        "    <error type=\"running\" message=\"running\">no exit code</error>\n"
        "  </testcase>\n"
        "</testsuite>\n");
}

TEST_CASE("a job that could not be asked is an error with the reason, beside the others") {
  const std::vector<JobAndCluster> jobs = {job("far-1", JobState::running, 0, "waits"),
                                           job("good-1", JobState::succeeded, 0, "")};
  const std::string report =
      junit_report(jobs, state::TimePoint(), {{"far-1", "Kubernetes: no connection"}});
  CHECK(report.find("tests=\"2\" failures=\"0\" errors=\"1\"") != report.npos);
  CHECK(report.find("<error type=\"running\" message=\"Kubernetes: no connection\">") !=
        report.npos);
  CHECK(report.find("name=\"good-1\" time=\"2.500\"/>") != report.npos);
}

TEST_CASE("a failure has the last lines of the rank that failed first") {
  JobAndCluster bad = job("bad-1", JobState::failed, 3, "rank 1 on demo-1: exited with 3");
  state::JobRecord record;
  record.failure =
      state::FirstFailure{.rank = 1, .node = {"demo-1"}, .last_lines = {"step 1", "no <file>"}};
  bad.job.record = record;
  const std::string report = junit_report(std::vector{bad}, state::TimePoint());
  CHECK(report.find(">exit code 3&#10;step 1&#10;no &lt;file&gt;</failure>") != report.npos);
}

TEST_CASE("code points that XML does not have are escaped, and their neighbours are not") {
  const std::string said = "a\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd\xf0\x9f\x98\x80 z";
  const std::string report =
      junit_report(std::vector{job("bad-1", JobState::failed, 3, said)}, state::TimePoint());
  CHECK(report.find("message=\"a\\ufffe\\uffff\xef\xbf\xbd\xf0\x9f\x98\x80 z\"") != report.npos);
}

TEST_CASE("a job that was started again says how often") {
  JobAndCluster good = job("good-1", JobState::succeeded, 0, "");
  state::JobRecord record;
  record.restarts = 2;
  good.job.record = record;
  const std::string report = junit_report(std::vector{good}, state::TimePoint());
  CHECK(report.find("    <system-out>restarts: 2</system-out>\n  </testcase>\n") != report.npos);
}

TEST_CASE("a job that succeeded without its outputs is a failure") {
  const std::vector<JobAndCluster> jobs = {
      job("lacks-1", JobState::succeeded, 1, "not fetched to .: demo-0: o does not exist")};
  const std::string report = junit_report(jobs, jobs.front().job.created);
  CHECK(report.find("failures=\"1\"") != std::string::npos);
  CHECK(report.find("<failure type=\"outputs\" message=\"not fetched to") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
