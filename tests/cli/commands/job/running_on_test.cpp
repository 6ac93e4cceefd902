#include "cli/commands/job/running_on.hpp"

#include <doctest/doctest.h>

#include <string>

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/running_on");

TEST_CASE("a failure keeps its kind, and names the commands that reach the job") {
  const Error refused(ErrorKind::denied, "the server refuses the login");
  const Error goes_on = with_job_that_goes_on(refused, "ex-1");
  CHECK(goes_on.kind() == ErrorKind::denied);
  CHECK(std::string(goes_on.what()) ==
        "the server refuses the login; job ex-1 goes on: fastgpu wait job ex-1 | fastgpu cancel "
        "job ex-1");
  const Error may_run = with_job_that_may_run(refused, "ex-1");
  CHECK(may_run.kind() == ErrorKind::denied);
  CHECK(std::string(may_run.what()) ==
        "the server refuses the login; job ex-1 may run: fastgpu wait job ex-1 | fastgpu cancel "
        "job ex-1");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
