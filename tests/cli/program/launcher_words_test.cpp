#include "cli/program/launcher_words.hpp"

#include <doctest/doctest.h>

#include <tuple>

#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using Words = std::vector<std::string>;
using fastgpu::test::failure_of;

/// Returns flags of run job that those of other launchers could be taken for.
Arguments flags_of_run_job() {
  Arguments arguments;
  arguments.add({.name = "NAME"});
  arguments.add({.name = "--cluster", .value = "CLUSTER", .letter = "-c"});
  arguments.add({.name = "--np", .value = "N", .letter = "-np"});
  arguments.add({.name = "--npernode", .value = "K"});
  arguments.add({.name = "--host", .value = "NODE", .letter = "-H"});
  arguments.add({.name = "--hostfile", .value = "FILE"});
  arguments.add({.name = "--stdin", .value = "TO"});
  arguments.add({.name = "--timeout", .value = "TIME"});
  arguments.add({.name = "--export", .value = "NAME", .letter = "-x", .repeated = true});
  arguments.add({.name = "--oversubscribe"});
  return arguments;
}

Words translated(const Words& words) {
  const Arguments arguments = flags_of_run_job();
  return translate_launcher_words(words, arguments);
}

std::string refusal(const Words& words) {
  const Error e = failure_of([&] { translated(words); });
  CHECK(e.kind() == ErrorKind::usage);
  return e.what();
}

TEST_SUITE_BEGIN("cli/launcher_words");

TEST_CASE("numbers, nodes and directories of mpirun are flags of run job") {
  const std::pair<Words, Words> cases[] = {
      {{"-n", "4", "--", "./a"}, {"--np=4", "--", "./a"}},
      {{"--n", "4", "-N", "2"}, {"--np=4", "--npernode=2"}},
      {{"--num-proc=8"}, {"--np=8"}},
      {{"-npernode", "2", "-pernode"}, {"--npernode=2", "--npernode=1"}},
      {{"--map-by", "ppr:4:node"}, {"--npernode=4"}},
      {{"-map-by", "slot:OVERSUBSCRIBE"}, {"--oversubscribe"}},
      {{"-hostfile", "hosts", "-machinefile=hosts"}, {"--hostfile=hosts", "--hostfile=hosts"}},
      {{"-wdir", "/data", "--wd", "/data"}, {"--workdir=/data", "--workdir=/data"}},
      {{"-stdin", "0", "--stdin", "all"}, {"--stdin=rank0", "--stdin=all"}},
      {{"-timeout", "60", "--timeout", "60", "--timeout=2m", "--timeout", "-np"},
       {"--timeout=60s", "--timeout=60", "--timeout=2m", "--timeout", "-np"}},
      {{"--mpi"}, {"--launcher=mpirun"}},
  };
  for (const auto& [words, wanted] : cases) {
    const Words& line = words;
    CAPTURE(line.front());
    CHECK(translated(words) == wanted);
  }
}

TEST_CASE("whole lines of the originals' pages start jobs") {
  const std::pair<Words, Words> cases[] = {
      {{"-np", "4", "-H", "localhost:4", "--", "python", "train.py"},  // perseusrun
       {"-np", "4", "--host=localhost:4", "--", "python", "train.py"}},
      {{"--mpi", "-np", "16", "-H", "host1:8,host2:8", "--", "python", "train.py"},
       {"--launcher=mpirun", "-np", "16", "--host=host1:8,host2:8", "--", "python", "train.py"}},
      {{"-np", "4", "-H", "a:2,b:2", "-x", "NCCL_DEBUG=INFO", "-x", "PATH", "--", "./train"},
       {"-np", "4", "-x", "NCCL_DEBUG=INFO", "-x", "PATH", "--host=a:2,b:2", "--", "./train"}},
      {{"-np", "16", "--npernode", "8", "--host", "10.0.0.1:8,10.0.0.2:8", "--bind-to", "none",
        "-x", "LD_LIBRARY_PATH", "-x", "XLA_FLAGS", "--", "python"},
       {"-np", "16", "--npernode", "8", "-x", "LD_LIBRARY_PATH", "-x", "XLA_FLAGS",
        "--host=10.0.0.1:8,10.0.0.2:8", "--", "python"}},
      {{"--bind-to", "none", "-map-by", "slot", "-x", "NCCL_SOCKET_IFNAME=^lo,docker0", "-mca",
        "btl_tcp_if_exclude", "lo,docker0", "-x", "PERSEUS_ALLREDUCE_STREAMS=6", "-x",
        "PERSEUS_ALLREDUCE_DISABLE_STREAM_TUNING=1", "-x", "PERSEUS_ALLREDUCE_MODE=1"},
       {"-x", "NCCL_SOCKET_IFNAME=^lo,docker0", "-x", "PERSEUS_ALLREDUCE_STREAMS=6", "-x",
        "PERSEUS_ALLREDUCE_DISABLE_STREAM_TUNING=1", "-x", "PERSEUS_ALLREDUCE_MODE=1"}},
      {{"-np", "64", "-hostfile", "hosts", "-mca", "plm_rsh_no_tree_spawn", "1", "-map-by", "slot"},
       {"-np", "64", "--hostfile=hosts"}},
      {{"-np", "16", "-H", "server1:4,server2:4,server3:4,server4:4", "--autotune",
        "--autotune-log-file", "/tmp/log.csv", "--", "python", "train.py"},  // horovodrun
       {"-np", "16", "--env=HOROVOD_AUTOTUNE=1", "--env=HOROVOD_AUTOTUNE_LOG=/tmp/log.csv",
        "--host=server1:4,server2:4,server3:4,server4:4", "--", "python", "train.py"}},
  };
  for (const auto& [words, wanted] : cases) {
    const Words& line = words;
    CAPTURE(line.front());
    CHECK(translated(words) == wanted);
  }
  CHECK(refusal({"-np", "64", "-hostfile", "hosts", "-bind-to", "socket"}).find("--per") !=
        std::string::npos);
  CHECK(refusal({"--prefix", "/usr/local", "-np", "4"}).find("mpirun of the nodes") !=
        std::string::npos);
}

TEST_CASE("lists of hosts are joined, however their flag is spelt") {
  CHECK(translated({"-H", "a:2", "-host", "b", "--hosts=c:2", "name"}) ==
        Words{"name", "--host=a:2,b,c:2"});
  CHECK(translated({"-H"}) == Words{"--host"});
  CHECK(translated({"--host="}) == Words{"--host="});
}

TEST_CASE("flags of run job keep their values, and a program keeps its words") {
  const Words words = {"train", "-c", "demo",   "-x", "PATH", "-x", "-n=1",
                       "-np",   "4",  "--typo", "--", "-n",   "4",  "--gloo"};
  CHECK(translated(words) == words);
}

TEST_CASE("what fastgpu does anyway is dropped") {
  CHECK(translated({"--allow-run-as-root", "-bind-to", "none", "--map-by", "slot", "--rank-by",
                    "slot", "--tag-output", "-mca", "plm_rsh_no_tree_spawn", "1", "--mca",
                    "btl_tcp_if_exclude", "lo,docker0", "--mca", "orte_keep_fqdn_hostnames", "t",
                    "./name"}) == Words{"./name"});
}

TEST_CASE("parameters of Open MPI and of Horovod are variables of the ranks") {
  const std::pair<Words, Words> cases[] = {
      {{"-mca", "pml", "ob1", "--mca", "btl", "^openib"},
       {"--env=OMPI_MCA_pml=ob1", "--env=OMPI_MCA_btl=^openib"}},
      {{"--fusion-threshold-mb", "32"}, {"--env=HOROVOD_FUSION_THRESHOLD=33554432"}},
      {{"--fusion-threshold-mb=0"}, {"--env=HOROVOD_FUSION_THRESHOLD=0"}},
      {{"--cycle-time-ms", "3.5"}, {"--env=HOROVOD_CYCLE_TIME=3.5"}},
      {{"--autotune", "--no-stall-check"},
       {"--env=HOROVOD_AUTOTUNE=1", "--env=HOROVOD_STALL_CHECK_DISABLE=1"}},
      {{"--timeline-filename", "/tmp/t.json"}, {"--env=HOROVOD_TIMELINE=/tmp/t.json"}},
      {{"--network-interface", "eth0"},
       {"--env=NCCL_SOCKET_IFNAME=eth0", "--env=GLOO_SOCKET_IFNAME=eth0",
        "--env=OMPI_MCA_btl_tcp_if_include=eth0"}},
  };
  for (const auto& [words, wanted] : cases) {
    const Words& line = words;
    CAPTURE(line.front());
    CHECK(translated(words) == wanted);
  }
}

TEST_CASE("a flag that cannot be honoured is refused by its name, with what to write instead") {
  const std::tuple<Words, std::string, std::string> cases[] = {
      {{"--bind-to", "core"}, "--bind-to:", "--per core"},
      {{"-bind-to-socket"}, "-bind-to-socket:", "--per core"},
      {{"--map-by", "socket"}, "--map-by:", "--per"},
      {{"--map-by", "node"}, "--map-by:", "--npernode K"},
      {{"--map-by", "slot:PE=4"}, "--map-by:", "--per"},
      {{"--map-by", "ppr:2:socket"}, "--map-by:", "--per"},
      {{"--rank-by", "node"}, "--rank-by:", "leave it out"},
      {{"-output-filename", "logs"}, "-output-filename:", "fastgpu logs JOB"},
      {{"-timestamp-output"}, "-timestamp-output:", "--timestamps"},
      {{"--mca", "oob_tcp_if_include", "eth0"}, "--mca oob_tcp_if_include:", "leave it out"},
      {{"--mca", "btl_tcp_if_exclude", "eth1"}, "--mca btl_tcp_if_exclude:", "btl_tcp_if_include"},
      {{"--gloo"}, "--gloo:", "--launcher plain"},
      {{"--min-np", "2"}, "--min-np:", "--retry N"},
      {{"-p", "2222"}, "-p:", "fastgpu get nodes"},
      {{"-stdin", "3"}, "-stdin:", "only rank 0"},
      {{"--fusion-threshold-mb", "many"}, "--fusion-threshold-mb:", "MiB"},
      {{"-n"}, "-n:", "value is missing"},
      {{"--mca", "btl"}, "--mca:", "value is missing"},
      {{"--mpi=yes"}, "--mpi:", "takes no value"},
      {{"-N", ""}, "-N:", "empty"},
      {{"-np", "2", "a", ":", "-np", "2", "b"}, "several programs", "start a job for each"},
  };
  for (const auto& [words, flag, advice] : cases) {
    const std::string why = refusal(words);
    CAPTURE(why);
    CHECK(why.find("run job: " + flag) == 0);
    CHECK(why.find(advice) != std::string::npos);
  }
}

TEST_CASE("a program without -- before it is advised about where one of its flags is refused") {
  const std::tuple<Words, std::string> cases[] = {
      {{"-np", "2", "-c", "q", "./a.out", "--epochs", "3"},
       "fastgpu mpirun -np 2 -c q -- ./a.out --epochs 3"},
      {{"-np", "2", "-c", "q", "-x", "FOO=1", "sh", "-c", "echo $FOO"},
       "fastgpu mpirun -np 2 -c q -x FOO=... -- sh -c 'echo $FOO'"},
      {{"-n", "2", "./a.out", "-n", "3"}, "fastgpu mpirun -n 2 -- ./a.out -n 3"},
      {{"-H", "a:2", "--mca", "pml", "ob1", "serve", "-p", "80"},
       "fastgpu mpirun -H a:2 --mca pml ob1 -- serve -p 80"},
      {{"--export=KEY=secret", "./a.out", "-m"}, "fastgpu mpirun --export=KEY=... -- ./a.out -m"},
  };
  const Arguments arguments = flags_of_run_job();
  for (const auto& [words, line] : cases) {
    const std::string wanted = "; put the program after --: " + line;
    CHECK(program_advice("mpirun", words, arguments) == wanted);
  }
}

TEST_CASE("a command line with a -- or without a program's flag gets no advice") {
  const Words cases[] = {
      {},
      {"-np", "2", "--epochs", "3"},
      {"train", "--epochs", "3", "--", "./a.out"},
      {"--typo", "./a.out"},
      {"train", "-np", "2", "-x", "A=1", "-x", "B=2"},
      {"train", "./a.out", "--epochs", "3"},  // The parser names ./a.out.
  };
  const Arguments arguments = flags_of_run_job();
  for (const Words& words : cases) {
    CAPTURE(words.size());
    CHECK(program_advice("mpirun", words, arguments).empty());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
