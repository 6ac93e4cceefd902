#include <doctest/doctest.h>

#include "cli/commands/env/env_demo_report.hpp"
#include "cli/commands/job/first_rank_lines.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using test::Session;

TEST_SUITE_BEGIN("cli/env_demo");

envs::EnvironmentLock lock_with(const std::vector<std::string>& packages) {
  envs::EnvironmentLock lock;
  for (const std::string& package : packages)
    lock.artefacts.push_back({.package = package, .version = "1", .url = {}, .sha256 = {}});
  return lock;
}

TEST_CASE("a report is found among other lines") {
  const auto run = parse_demo_report(
      R"({"schema": "fastgpu.demo/1", "framework": "numpy", "ranks": 4, "accuracy": 0.975, "loss": 0.1, "seconds": 2})");
  REQUIRE(run);
  CHECK(run->framework == "numpy");
  CHECK(run->ranks == 4);
  CHECK(run->accuracy == 0.975);
  CHECK(run->seconds == 2);
  CHECK(!parse_demo_report("numpy: 1442 images to train on"));
  CHECK(!parse_demo_report("{}"));
  CHECK(!parse_demo_report(""));
}

TEST_CASE("a report that is not whole is refused") {
  for (
      const char* line :
      {R"({"schema": "fastgpu.demo/1"})", R"({"schema": "fastgpu.demo/1",)",
       R"({"schema": "fastgpu.demo/1", "framework": "numpy", "ranks": 1, "accuracy": 7, "loss": 0, "seconds": 0})",
       R"({"schema": "fastgpu.demo/1", "framework": "numpy", "ranks": 0, "accuracy": 1, "loss": 0, "seconds": 0})",
       R"({"schema": "fastgpu.demo/1", "framework": 3, "ranks": 1, "accuracy": 1, "loss": 0, "seconds": 0})"})
    CHECK(failure_of([&] { parse_demo_report(line); }).kind() == ErrorKind::remote);
}

TEST_CASE("there is a demonstration for each framework, by whichever name it has") {
  CHECK(demos_for(lock_with({"alpha"})).empty());
  CHECK(demos_for(lock_with({"numpy", "alpha"})) == std::vector<std::string>{"numpy"});
  CHECK(demos_for(lock_with({"torch"})) == std::vector<std::string>{"torch"});
  CHECK(demos_for(lock_with({"numpy", "pytorch"})) == std::vector<std::string>{"numpy", "torch"});
  CHECK(demos_for(lock_with({"mxnet", "jaxlib", "jax", "numpy", "tensorflow-cpu"})) ==
        std::vector<std::string>{"numpy", "tensorflow", "jax", "mxnet"});
  CHECK(demos_for(lock_with({"mxnet-cu112"})) == std::vector<std::string>{"mxnet"});
  CHECK(demos_for(lock_with({"tensorflow-estimator", "jaxlib", "torchvision"})).empty());
}

TEST_CASE("many ranks must come to what one does, and both to something good") {
  const DemoRun one{.framework = "numpy", .ranks = 1, .accuracy = 0.970};
  const auto many = [](double accuracy) {
    return DemoRun{.framework = "numpy", .ranks = 4, .accuracy = accuracy};
  };
  CHECK(objection(one, many(0.970)).empty());
  CHECK(objection(one, many(0.974)).empty());
  CHECK(
      objection(one, many(0.980)) ==
      "numpy: the accuracy is 97.00 % on 1 rank and 98.00 % on 4 ranks, which differ by more than "
      "0.50 %");
  CHECK(objection(one, many(0.1)) ==
        "numpy: the accuracy on 4 ranks is 10.00 %, and should be at least 95.00 %");
  CHECK(objection({.framework = "numpy", .ranks = 1, .accuracy = 0.94}, many(0.94)) ==
        "numpy: the accuracy on 1 rank is 94.00 %, and should be at least 95.00 %");
}

TEST_CASE("the runs are shown in their order, a framework by its name once") {
  const View view = view_of("train", {{"numpy", 1, 0.97, 0.03, 1.5}, {"numpy", 2, 0.97, 0.03, 1}});
  CHECK(view.root["schema"] == "fastgpu.environment-demo/1");
  CHECK(view.root["runs"].size() == 2);
  CHECK(view.root["runs"][1]["ranks"] == 2);
  CHECK(view.names == std::vector<std::string>{"numpy"});
}

TEST_CASE("what a reader of rank 0's lines throws is told afterwards, the first of it") {
  Session session;
  int taken = 0;
  FirstRankLines lines(session.context, [&](const std::string& line) {
    ++taken;
    throw Error(ErrorKind::remote, "'" + line + "' is wrong");
  });
  lines.output(0, agent::OutputStream::out, "on");
  lines.output(0, agent::OutputStream::out, "e\ntwo\nthr");
  CHECK(taken == 2);
  CHECK(std::string(failure_of([&] { lines.check(); }).what()) == "rank 0: 'one' is wrong");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
