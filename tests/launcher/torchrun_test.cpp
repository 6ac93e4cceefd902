#include "launcher/engines/torchrun.hpp"

#include <doctest/doctest.h>

#include "agent/protocol/environment.hpp"
#include "agent/protocol/plan.hpp"
#include "launcher/job_files.hpp"
#include "launcher/users_command.hpp"

namespace fastgpu::launcher {
namespace {

using Words = std::vector<std::string>;

JobSpec spec_of(const Words& program, const Words& environment = {}) {
  JobSpec spec;
  spec.name = {"t"};
  spec.argv = program;
  spec.environment = environment;
  spec.launcher = Launcher::torchrun;
  return spec;
}

/// Returns the words after "sh -c SCRIPT".
Words torchrun_words(const Words& program) {
  const Words all = torchrun_argv(spec_of(program));
  return {all.begin() + 3, all.end()};
}

std::string script_of(const Words& program, const Words& environment = {}) {
  return torchrun_argv(spec_of(program, environment))[2];
}

/// Returns a request for two nodes, with 8 and 4 workers.
JobFilesRequest request_of(const Words& environment = {}) {
  const JobRecord job = with_torchrun({.spec = spec_of({"train.py"}, environment),
                                       .placement = {{{"n-0"}, 0, 8}, {{"n-1"}, 8, 4}}});
  return {.id = "t-1",
          .spec = job.spec,
          .nodes = {{job.placement[0], {.address = "10.0.0.1", .user = "root"}},
                    {job.placement[1], {.address = "10.0.0.2", .user = "root"}}},
          .access = {"c0ffee00", Secret("KEY")},
          .communicator_secret = Secret("hush")};
}

TEST_SUITE_BEGIN("launcher/engines/torchrun");

TEST_CASE("a script, a module and a program are what torchrun takes them for") {
  CHECK(torchrun_words({"python", "train.py", "--lr", "1"}) ==
        Words{"torchrun", "train.py", "--lr", "1"});
  CHECK(torchrun_words({"python3", "-u", "train.py"}) == Words{"torchrun", "train.py"});
  CHECK(torchrun_words({"python3", "-m", "train", "-u"}) == Words{"torchrun", "-m", "train", "-u"});
  CHECK(torchrun_words({"./train.py"}) == Words{"torchrun", "./train.py"});
  CHECK(torchrun_words({"./train", "a.py"}) == Words{"torchrun", "--no_python", "./train", "a.py"});
  CHECK(torchrun_words({"pythonic", "x"}) == Words{"torchrun", "--no_python", "pythonic", "x"});
  CHECK(script_of({"train.py"}) == R"(PET_MASTER_PORT=$MASTER_PORT exec torchrun "$@")");
}

TEST_CASE("an interpreter that the user names runs torchrun itself") {
  for (const char* python : {"/opt/p/bin/python", "./venv/bin/python3", "python3.11"}) {
    const Words words = torchrun_argv(spec_of({python, "-u", "-m", "train", "-u"}));
    CHECK(words == Words{"sh", "-c",
                         "PET_MASTER_PORT=$MASTER_PORT exec \"$0\" -m torch.distributed.run \"$@\"",
                         python, "-m", "train", "-u"});
    CHECK(torchrun_python(words) == python);
  }
  for (const Words& program :
       {Words{"python", "a.py"}, {"python3", "a.py"}, {"a.py"}, {"./train", "/usr/bin/python3"}})
    CHECK(torchrun_python(torchrun_argv(spec_of(program))).empty());
  CHECK(torchrun_python({"true"}).empty());
}

TEST_CASE("in an environment the interpreter that runs torchrun is the same") {
  const std::string runner =
      agent::runner_of(agent::EnvironmentPlaces{"/opt/fastgpu/envs"}.current("train")).string();
  for (const char* program : {"python", "python3", "/opt/p/bin/python", "./train", "train.py"}) {
    const Words words = torchrun_argv(spec_of({program, "a.py"}));
    Words in_environment = words;
    in_environment.insert(in_environment.begin(), runner);
    CHECK(torchrun_python(in_environment) == torchrun_python(words));
  }
}

TEST_CASE("the shell's line of torchrun is no part of the command that is shown") {
  for (const Words& program : {Words{"python", "a.py", "1"}, Words{"/opt/p/bin/python", "a.py"}}) {
    Words words = torchrun_argv(spec_of(program));
    const auto shown = users_command(words);
    CHECK(Words(shown.begin(), shown.end()) == Words(words.begin() + 3, words.end()));
  }
}

TEST_CASE("torchruns that meet by c10d know where") {
  const Words asked = {"PET_RDZV_BACKEND=c10d"};
  CHECK(script_of({"train.py"}, asked) ==
        "PET_RDZV_ENDPOINT=$MASTER_ADDR:$MASTER_PORT PET_MASTER_PORT=$MASTER_PORT exec torchrun "
        "\"$@\"");
  const Words of_first = torchrun_variables(request_of(asked), 0);
  const Words of_second = torchrun_variables(request_of(asked), 1);
  CHECK(Words(of_first.end() - 4, of_first.end()) ==
        Words{"PET_RDZV_ID=t-1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1", "PET_LOCAL_ADDR=10.0.0.1",
              "PET_RDZV_CONF=is_host=1"});
  CHECK(Words(of_second.end() - 4, of_second.end()) ==
        Words{"PET_RDZV_ID=t-1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1", "PET_LOCAL_ADDR=10.0.0.2",
              "PET_RDZV_CONF=is_host=0"});
  // A store of the user's own is another program, or elsewhere.
  const Words own = {"PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=store:1"};
  CHECK(script_of({"train.py"}, own).find("ENDPOINT") == std::string::npos);
  CHECK(torchrun_variables(request_of(own), 0).back() == "PET_LOCAL_ADDR=10.0.0.1");
}

TEST_CASE("each node has one torchrun, with as many workers as it had ranks") {
  const JobFilesRequest request = request_of();
  const NodeRanks& second = request.nodes[1].ranks;
  CHECK(second.first == 1);
  CHECK(second.count == 1);
  CHECK(second.workers == 4);
  CHECK(torchrun_variables(request, 1) == Words{"PET_NNODES=2", "PET_NPROC_PER_NODE=4",
                                                "PET_NODE_RANK=1", "PET_MASTER_ADDR=10.0.0.1",
                                                "PET_RDZV_ID=t-1"});
  const auto files = rank_files(request, request.nodes[1]);
  CHECK(agent::parse_plan(files[0].content).starts_workers);
  CHECK(files[1].content.find("PET_NPROC_PER_NODE=4") != std::string::npos);
  CHECK(files[1].content.find("LOCAL_WORLD_SIZE") == std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
