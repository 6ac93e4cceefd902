#include "launcher/slurm_script.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/error.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

const std::string kFailed = "sbatch: error: Batch job submission failed: ";

NodeAnswer answer_with(int status, const std::string& errors, const std::string& output = {}) {
  return {.result = {{"login"}, ssh::Exit{.status = status}}, .out = output, .err = errors};
}

Error refusal(const std::string& errors) {
  return failure_of([&] { throw Error(failure_of_call(answer_with(1, errors)).value()); });
}

Error refused_trial(const std::string& output) {
  return failure_of([&] { throw Error(failure_of_trial(answer_with(1, "", output)).value()); });
}

TEST_SUITE_BEGIN("launcher/slurm_script");

TEST_CASE("a refusal of Slurm has the kind of its reason") {
  struct Row {
    const char* reason;
    ErrorKind kind;
  };
  for (const Row& row :
       {Row{"More processors requested than permitted", ErrorKind::usage},
        Row{"Requested node configuration is not available", ErrorKind::usage},
        Row{"Time limit specification required, but not provided", ErrorKind::usage},
        Row{"Invalid partition name specified", ErrorKind::not_found},
        Row{"Invalid qos specification", ErrorKind::not_found},
        Row{"Requested reservation is invalid", ErrorKind::not_found},
        Row{"Invalid node name specified", ErrorKind::not_found},
        Row{"Access denied to requested reservation", ErrorKind::denied},
        Row{"User's group not permitted to use this partition", ErrorKind::denied},
        Row{"Job violates accounting/QOS policy (job submit limit, user's size "
            "and/or time limits)",
            ErrorKind::capacity},
        Row{"Something new", ErrorKind::remote}}) {
    CAPTURE(row.reason);
    CHECK(refusal(kFailed + row.reason + "\n").kind() == row.kind);
    CHECK(refused_trial("allocation failure: " + std::string(row.reason) + "\n").kind() ==
          row.kind);
  }
}

TEST_CASE("the reason of a refusal comes first, and what the site prints beside it after it") {
  const std::string greeting = "sbatch: error: Welcome. Invalid partition name is a usual mistake.";
  const std::string reason = kFailed + "Invalid account or account/partition combination specified";
  const Error e = refusal(greeting + "\n" + reason + "\n\nsbatch: error: Ask help@site.\n");
  CHECK(std::string(e.what()) == "Slurm on login: " + reason + " (it also printed: " + greeting +
                                     "; sbatch: error: Ask help@site.)");
  CHECK(e.kind() == ErrorKind::denied);
}

TEST_CASE("without a line of sbatch's own, all lines of a filter are the reason") {
  const std::string first = "sbatch: error: Partition one is for interactive use.";
  const std::string second = "sbatch: error: Ask help@site.";
  CHECK(std::string(refusal(first + "\n" + second + "\n").what()) ==
        "Slurm on login: " + first + "; " + second);
  CHECK(std::string(refusal("").what()) == "Slurm on login: the command failed");
}

TEST_CASE("the answer of a trial comes first, and what the site prints beside it after it") {
  CHECK(words_of_slurm("Welcome\nsbatch: Job 7 to start at 12:00 using 2 processors\n") ==
        "sbatch: Job 7 to start at 12:00 using 2 processors (it also printed: Welcome)");
  CHECK(std::string(refused_trial("Welcome\nallocation failure: Something new\n").what()) ==
        "Slurm on login refuses the job: allocation failure: Something new (it also printed: "
        "Welcome)");
}

TEST_CASE("a controller that does not answer has not refused a job") {
  const std::string words = kFailed + "Unable to contact slurm controller (connect failure)";
  for (const Error& e : {refused_trial(words + "\n"), refusal(words + "\n")}) {
    CHECK(e.kind() == ErrorKind::transient);
    CHECK(std::string(e.what()) == "Slurm's controller does not answer on login: " + words);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
