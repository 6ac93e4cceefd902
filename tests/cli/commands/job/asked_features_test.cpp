#include "cli/commands/job/asked_features.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace fastgpu::cli {
namespace {

using launcher::JobFeature;
using launcher::JobFile;
using Features = std::vector<JobFeature>;

TEST_SUITE_BEGIN("cli/asked_features");

TEST_CASE("a job of a program alone asks for nothing that an engine may lack") {
  CHECK(asked_features({}, {}).empty());
}

TEST_CASE("a cluster with some of its nodes asks for these nodes, also in a job file") {
  RunJobOptions options;
  options.cluster = "demo/0";
  CHECK(asked_features(options, {}) == std::vector{JobFeature::nodes, JobFeature::cluster});
  launcher::JobFile file;
  file.cluster = "demo/1-3";
  CHECK(asked_features({}, file) == std::vector{JobFeature::nodes, JobFeature::cluster});
}

TEST_CASE("a flag asks for its own feature") {
  struct Case {
    std::function<void(RunJobOptions&)> set;
    JobFeature asked;
  };
  const std::vector<Case> cases = {
      {[](RunJobOptions& o) { o.hosts = "n-0"; }, JobFeature::hosts},
      {[](RunJobOptions& o) { o.launcher = "torchrun"; }, JobFeature::launcher},
      {[](RunJobOptions& o) { o.input = "all"; }, JobFeature::input},
      {[](RunJobOptions& o) { o.oversubscribe = true; }, JobFeature::crowding},
      {[](RunJobOptions& o) { o.share = true; }, JobFeature::sharing},
      {[](RunJobOptions& o) { o.priority = 0; }, JobFeature::priority},
      {[](RunJobOptions& o) { o.keep_processes = true; }, JobFeature::leftovers},
      {[](RunJobOptions& o) { o.on_full = "stop"; }, JobFeature::on_full},
      {[](RunJobOptions& o) { o.keep_jobs = 0; }, JobFeature::keep_jobs},
      {[](RunJobOptions& o) { o.cluster = "demo"; }, JobFeature::cluster},
      {[](RunJobOptions& o) { o.sync = "."; }, JobFeature::sync},
      {[](RunJobOptions& o) { o.secrets = {"TOKEN"}; }, JobFeature::secrets},
      {[](RunJobOptions& o) { o.environment = "train"; }, JobFeature::environment},
      {[](RunJobOptions& o) { o.array.range = "0-3"; }, JobFeature::array},
      {[](RunJobOptions& o) { o.recovery.retries = 1; }, JobFeature::retry},
      {[](RunJobOptions& o) { o.recovery.checkpoints = {"ckpt"}; }, JobFeature::checkpoints},
      {[](RunJobOptions& o) { o.post_mortem = "."; }, JobFeature::post_mortem},
      {[](RunJobOptions& o) { o.after_job.fetch = {{"out"}}; }, JobFeature::fetch},
      {[](RunJobOptions& o) { o.check = true; }, JobFeature::check},
      {[](RunJobOptions& o) { o.per = "gpu"; }, JobFeature::rank_unit},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    RunJobOptions options;
    cases[i].set(options);
    CHECK(asked_features(options, {}) == Features{cases[i].asked});
  }
}

TEST_CASE("a job file asks as flags do, and a flag that turns its wish off wins") {
  JobFile file;
  file.share = true;
  file.retry = 2;
  file.stdin_to = "rank0";
  CHECK(asked_features({}, file) ==
        Features{JobFeature::input, JobFeature::sharing, JobFeature::retry});
  RunJobOptions options;
  options.recovery.retries = 0;
  options.input = "none";
  CHECK(asked_features(options, file) == Features{JobFeature::sharing});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
