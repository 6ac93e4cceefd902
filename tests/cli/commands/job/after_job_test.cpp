#include "cli/commands/job/after_job.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::mentions;

TEST_SUITE_BEGIN("cli/after_job");

TEST_CASE("an output is looked for where the job ran, at the home directory, or anywhere") {
  launcher::JobSpec spec;
  CHECK(path_in_job(spec, "train-1", {"out"}) == "out");
  CHECK(path_in_job(spec, "train-1", {"~/out"}) == "~/out");
  spec.sync = "./src";
  CHECK(path_in_job(spec, "train-1", {"out"}) == ".fastgpu/jobs/train-1/work/out");
  CHECK(path_in_job(spec, "train-1", {"~/out"}) == "~/out");
  spec.directory = "~/work";
  CHECK(path_in_job(spec, "train-1", {"out"}) == "~/work/out");
  CHECK(path_in_job(spec, "train-1", {"/data"}) == "/data");
}

TEST_CASE("a directory for outputs that cannot be one is refused before anything starts") {
  const AfterJobFlags flags{.fetch = {{"out"}}, .fetch_to = "/dev/null", .notify = ""};
  const Error e = failure_of([&] { after_job_of(flags, {}); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "run job: --fetch-to /dev/null cannot be used: /dev/null is not a directory"));
}

TEST_CASE("every flag for a path on the nodes refuses what the nodes would not expand") {
  for (const std::string flag : {"--workdir", "--checkpoints", "--fetch"})
    for (const std::string path : {"~ann/x", "$HOME/x"}) {
      test::Session session;
      const Error e = failure_of([&] {
        session.run({"run", "job", "x", flag + "=" + path, "--", "true"});
      });
      CHECK(e.kind() == ErrorKind::usage);
      CHECK(mentions(e, flag + " '" + path + "': "));
    }
}

TEST_CASE("a directory for a post-mortem that cannot be one is refused before anything starts") {
  test::Session session;
  const Error e = failure_of([&] {
    session.run({"run", "job", "x", "--post-mortem", "/dev/null", "--", "true"});
  });
  CHECK(
      mentions(e, "run job: --post-mortem /dev/null cannot be used: /dev/null is not a directory"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
