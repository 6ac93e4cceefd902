#include "cli/commands/job/job_request.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;

const auto kNothingSet = [](const char*) { return std::optional<std::string>(); };

TEST_SUITE_BEGIN("cli/job_request");

TEST_CASE("a secret of the job file that is not set is refused with its place in the file") {
  RunJobOptions options;
  const launcher::JobFile file =
      launcher::read_job_file(config::Document::parse("secrets: [NOPE]\n", "j.yaml"));
  const Error error = failure_of([&] { secrets_of(options, file, kNothingSet); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(std::string(error.what()) ==
        "j.yaml:1:11: 'secrets[0]': the variable NOPE is not set on this machine: set it, or name "
        "a file: {name: NOPE, file: FILE}");
}

TEST_CASE("a flag comes before the environment of the file, and that before the active one") {
  RunJobOptions options;
  launcher::JobFile file;
  CHECK(wanted_environment(options, file, "").empty());
  CHECK(wanted_environment(options, file, "active") == "active");
  file.environment = "of-file";
  CHECK(wanted_environment(options, file, "active") == "of-file");
  options.environment = "of-flag";
  CHECK(wanted_environment(options, file, "active") == "of-flag");
  options.no_environment = true;
  CHECK(wanted_environment(options, file, "active").empty());
}

TEST_CASE("an empty program is a missing one") {
  for (const auto& program : {std::vector<std::string>{}, std::vector<std::string>{""}}) {
    RunJobOptions options;
    options.program = program;
    const Error error = failure_of([&] { requested_spec(options, {}, {}, kNothingSet); });
    CHECK(std::string(error.what()).starts_with("run job: the program is missing"));
  }
}

TEST_CASE("a timeout of 0 on the command line is refused by the command") {
  RunJobOptions options;
  options.program = {"true"};
  options.timeout = std::chrono::milliseconds(0);
  const Error error = failure_of([&] { requested_spec(options, {}, {}, kNothingSet); });
  CHECK(std::string(error.what()) ==
        "run job: the timeout is 0: give a longer one, or omit it for no timeout");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
