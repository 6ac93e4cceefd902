#include "launcher/engines/torchrun.hpp"

#include <doctest/doctest.h>

#include "agent/protocol/plan.hpp"
#include "launcher/job_files.hpp"

namespace fastgpu::launcher {
namespace {

using Words = std::vector<std::string>;

/// Returns the words after "sh -c SCRIPT".
Words torchrun_words(const Words& program) {
  const Words all = torchrun_argv(program);
  return {all.begin() + 3, all.end()};
}

TEST_SUITE_BEGIN("launcher/engines/torchrun");

TEST_CASE("a script, a module and a program are what torchrun takes them for") {
  CHECK(torchrun_words({"python", "train.py", "--lr", "1"}) ==
        Words{"torchrun", "train.py", "--lr", "1"});
  CHECK(torchrun_words({"/usr/bin/python3.11", "-u", "train.py"}) == Words{"torchrun", "train.py"});
  CHECK(torchrun_words({"python3", "-m", "train", "-u"}) == Words{"torchrun", "-m", "train", "-u"});
  CHECK(torchrun_words({"./train.py"}) == Words{"torchrun", "./train.py"});
  CHECK(torchrun_words({"./train", "a.py"}) == Words{"torchrun", "--no-python", "./train", "a.py"});
  CHECK(torchrun_words({"pythonic", "x"}) == Words{"torchrun", "--no-python", "pythonic", "x"});
  CHECK(torchrun_argv({"train.py"})[2].find("PET_MASTER_PORT=$MASTER_PORT ") == 0);
}

TEST_CASE("each node has one torchrun, with as many workers as it had ranks") {
  JobRecord job{.spec = {.name = {"t"}, .argv = {"train.py"}, .launcher = Launcher::torchrun},
                .placement = {{{"n-0"}, 0, 8}, {{"n-1"}, 8, 4}}};
  job = with_torchrun(job);
  REQUIRE(job.placement.size() == 2);
  CHECK(job.placement[1].first == 1);
  CHECK(job.placement[1].count == 1);
  CHECK(job.placement[1].workers == 4);
  const JobFilesRequest request{
      .id = "t-1",
      .spec = job.spec,
      .nodes = {{job.placement[0], {.address = "10.0.0.1", .user = "root"}},
                {job.placement[1], {.address = "10.0.0.2", .user = "root"}}},
      .access = {"c0ffee00", Secret("KEY")},
      .communicator_secret = Secret("hush")};
  CHECK(torchrun_variables(request, 1) == Words{"PET_NNODES=2", "PET_NPROC_PER_NODE=4",
                                                "PET_NODE_RANK=1", "PET_MASTER_ADDR=10.0.0.1"});
  const auto files = rank_files(request, request.nodes[1]);
  CHECK(agent::parse_plan(files[0].content).starts_workers);
  CHECK(files[1].content.find("PET_NPROC_PER_NODE=4") != std::string::npos);
  CHECK(files[1].content.find("LOCAL_WORLD_SIZE") == std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
