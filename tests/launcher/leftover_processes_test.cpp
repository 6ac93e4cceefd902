#include "launcher/leftover_processes.hpp"

#include <doctest/doctest.h>

namespace fastgpu::launcher {
namespace {

/// Returns the report of a job of two ranks whose launcher has ended with `code`.
JobReport report(int code, std::size_t ranks_that_ended) {
  JobReport report;
  report.placement = {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}};
  report.ranks.resize(ranks_that_ended);
  report.launcher.emplace();
  report.launcher->how.code = code;
  return report;
}

TEST_SUITE_BEGIN("launcher/leftover_processes");

TEST_CASE("a launcher that failed before its ranks ended may leave some of them running") {
  CHECK(needs_sweep(report(1, 1), {}));
  CHECK_FALSE(needs_sweep(report(1, 2), {}));
  CHECK_FALSE(needs_sweep(report(0, 1), {}));
  CHECK_FALSE(needs_sweep({}, {}));
}

TEST_CASE("a daemon of mpirun that was killed leaves its session, even if all ranks have ended") {
  JobReport killed = report(1, 2);
  killed.launcher_tail =
      "ORTE has lost communication with a remote daemon.\n\n"
      "  Remote daemon: [[28084,0],1] on node 10.64.1.11\n";
  CHECK(needs_sweep(killed, {}));
}

TEST_CASE("daemons are kept only after a job that has ended well") {
  JobSpec keeps;
  keeps.leftovers = Leftovers::kept;
  CHECK(needs_sweep(report(1, 2), keeps));
  CHECK_FALSE(needs_sweep(report(0, 2), keeps));
  JobReport stopped = report(0, 2);
  stopped.launcher->cause = agent::StopCause::request;
  CHECK(needs_sweep(stopped, keeps));
  CHECK(leaves_processes(*stopped.launcher, keeps));
  CHECK_FALSE(leaves_processes(*stopped.launcher, {}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
