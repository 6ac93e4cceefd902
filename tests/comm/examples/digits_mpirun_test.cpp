// The training example under a real mpirun on this machine: skipped where there is none.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "support/free_port.hpp"
#include "support/temp_directory.hpp"

extern char** environ;

namespace fastgpu::comm {
namespace {

namespace fs = std::filesystem;

constexpr int kSkipped = 77;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The exit status of a program whose output goes to `log`; 127 where it does not exist.
int run(std::vector<std::string> words, const fs::path& log) {
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = -1;
  const int error =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || ::waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Run {
  int status = 0;
  std::string output;
  nlohmann::json report;
};

Run run_digits(int ranks, const std::string& epochs) {
  const test::TempDirectory directory;
  const fs::path& folder = directory.path();
  ::setenv("FASTGPU_COMM_MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("FASTGPU_COMM_MASTER_PORT", std::to_string(test::free_port()).c_str(), 1);
  ::setenv("FASTGPU_COMM_SECRET", "only of this test", 1);
  Run result;
  result.status =
      run({"mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1",
           "--timeout", "120", "-np", std::to_string(ranks), DIGITS_PROGRAM, "--epochs", epochs,
           "--report", (folder / "report.json").string()},
          folder / "log");
  result.output = text_of(folder / "log");
  if (fs::exists(folder / "report.json"))
    result.report = parse_json(text_of(folder / "report.json"), "the report");
  return result;
}

TEST_CASE("two ranks under mpirun learn what one rank learns, with equal parameters") {
  const Run one = run_digits(1, "30");
  const Run two = run_digits(2, "30");

  for (const Run* run : {&one, &two}) {
    CAPTURE(run->output);
    REQUIRE(run->status == 0);
    CHECK(field<double>(run->report, "accuracy") >= 0.95);
    CHECK(field<bool>(run->report, "parameters_equal"));
  }
  CHECK(field<int>(two.report, "ranks") == 2);
  CHECK(two.output.find("parameters: equal on all 2 ranks (hash ") != std::string::npos);
  CHECK(field<double>(two.report, "accuracy") ==
        doctest::Approx(field<double>(one.report, "accuracy")).epsilon(0.005));
}

TEST_CASE("three ranks share batches that do not divide by three") {
  const Run run = run_digits(3, "2");
  CAPTURE(run.output);
  CHECK(run.status == 0);
  CHECK(field<bool>(run.report, "parameters_equal"));
}

TEST_CASE("a report that cannot be written ends the program before it trains") {
  const test::TempDirectory directory;
  const fs::path log = directory.path() / "log";
  CHECK(run({DIGITS_PROGRAM, "--epochs", "1", "--report", "/nowhere/report.json"}, log) == 1);
  const std::string output = text_of(log);
  CAPTURE(output);
  CHECK(output.find("the report /nowhere/report.json cannot be written") != std::string::npos);
  CHECK(output.find("epoch") == std::string::npos);
}

}  // namespace
}  // namespace fastgpu::comm

int main(int count, char** arguments) {
  if (fastgpu::comm::run({"mpirun", "--version"}, "/dev/null") != 0) return fastgpu::comm::kSkipped;
  return doctest::Context(count, arguments).run();
}
