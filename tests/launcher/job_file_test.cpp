#include "launcher/job_file.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

JobFile read(const std::string& text) {
  return read_job_file(config::Document::parse(text, "job.yaml"));
}

TEST_SUITE_BEGIN("launcher/job_file");

TEST_CASE("every field of a job file is read") {
  const JobFile file = read(R"(name: train
cluster: demo
np: 8
npernode: 4
env:
  ZETA: 1
  ALPHA: "two words $HOME"
secrets: [TOKEN, {name: KEY, file: ./key}]
sync: ./src
environment: train-2
workdir: /work
command: [python, train.py, --lr, 0.1, ""]
timeout: 2h
grace: 30s
keep_processes: true
on_full: stop
keep_jobs: 7
detach: true
engine: slurm
slurm: {partition: gpu, account: ab12, qos: high, mpi: pmix, nodes: 2, gpus: 8, cpus: 6}
launcher: plain
stdin: none
priority: -5
after: [prepare, eval-3]
share: true
fetch: [results, /data/model.pt]
fetch_to: ./out
notify: 'mail -s "$JOB_ID" me'
)");
  CHECK(file.name == "train");
  CHECK(file.cluster == "demo");
  CHECK(file.np == 8);
  CHECK(file.npernode == 4);
  CHECK(file.env == std::vector<std::pair<std::string, std::string>>{{"ZETA", "1"},
                                                                     {"ALPHA", "two words $HOME"}});
  REQUIRE(file.secrets.size() == 2);
  CHECK(file.secrets[0].name == "TOKEN");
  CHECK(file.secrets[0].file.empty());
  CHECK(file.secrets[0].place == "job.yaml:8:11: 'secrets[0]'");
  CHECK(file.secrets[1].place == "job.yaml:8:18: 'secrets[1]'");
  CHECK(file.secrets[1].name == "KEY");
  CHECK(file.secrets[1].file == "./key");
  CHECK(file.launcher == "plain");
  CHECK(file.stdin_to == "none");
  CHECK(file.priority == -5);
  CHECK(file.after == std::vector<std::string>{"prepare", "eval-3"});
  CHECK(file.share == true);
  CHECK(file.fetch == std::vector<transfer::NodePath>{{"results"}, {"/data/model.pt"}});
  CHECK(file.fetch_to == "./out");
  CHECK(file.notify == "mail -s \"$JOB_ID\" me");
  CHECK(file.sync == "./src");
  CHECK(file.environment == "train-2");
  CHECK(file.workdir == transfer::NodePath{"/work"});
  CHECK(file.command == std::vector<std::string>{"python", "train.py", "--lr", "0.1", ""});
  CHECK(file.timeout == std::chrono::hours(2));
  CHECK(file.grace == std::chrono::seconds(30));
  CHECK(file.keep_processes == true);
  CHECK(file.on_full == "stop");
  CHECK(file.keep_jobs == 7);
  CHECK(file.detach == true);
  CHECK(file.engine == "slurm");
  REQUIRE(file.slurm);
  CHECK(file.slurm->partition == "gpu");
  CHECK(file.slurm->account == "ab12");
  CHECK(file.slurm->qos == "high");
  CHECK(file.slurm->mpi == "pmix");
  CHECK(file.slurm->nodes == 2);
  CHECK(file.slurm->gpus == 8);
  CHECK(file.slurm->cpus == 6);
}

TEST_CASE("the fields of Slurm that sites ask for are read") {
  const JobFile file = read(R"(slurm:
  gpus: a100:2
  memory: 64G
  constraint: "(a100|h100)&nvlink"
  reservation: course_7
  nodelist: gpu[01-04],gpu7
  exclude: gpu02
  exclusive: true
)");
  REQUIRE(file.slurm);
  CHECK(file.slurm->gpus == 2);
  CHECK(file.slurm->gpu_type == "a100");
  CHECK(file.slurm->memory == "64G");
  CHECK(file.slurm->constraint == "(a100|h100)&nvlink");
  CHECK(file.slurm->reservation == "course_7");
  CHECK(file.slurm->nodelist == "gpu[01-04],gpu7");
  CHECK(file.slurm->exclude == "gpu02");
  CHECK(file.slurm->exclusive);
  CHECK(read("slurm: {memory: 0}\n").slurm->memory == "0");
  CHECK(read("slurm: {memory_per_cpu: 4000M}\n").slurm->memory_per_cpu == "4000M");
}

TEST_CASE("parameters of Open MPI and settings of NCCL become variables, unless there is one") {
  const JobFile file = read(R"(nccl: {DEBUG: INFO, IB_HCA: "=mlx5_0", ALGO: ""}
mpi:
  pml: ob1
  btl: ^openib
  coll_tuned_use_dynamic_rules: 1
  btl_tcp_if_exclude: lo,docker0
  plm_rsh_no_tree_spawn: 1
env: {NCCL_DEBUG: WARN, OMPI_MCA_pml: ucx}
)");
  CHECK(file.env == std::vector<std::pair<std::string, std::string>>{
                        {"NCCL_DEBUG", "WARN"},
                        {"OMPI_MCA_pml", "ucx"},
                        {"OMPI_MCA_btl", "^openib"},
                        {"OMPI_MCA_coll_tuned_use_dynamic_rules", "1"},
                        {"NCCL_IB_HCA", "=mlx5_0"},
                        {"NCCL_ALGO", ""}});
}

TEST_CASE("what cannot be is refused with line and column") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"comand: [a]\n", "job.yaml:1:1: unknown field 'comand', did you mean 'command'?"},
      {"enviroment: a\n", "job.yaml:1:1: unknown field 'enviroment', did you mean 'environment'?"},
      {"environment: ../train\n",
       "job.yaml:1:14: 'environment': '../train' is not a name of an environment: it has 1 to 80 "
       "letters, digits, '.', '_' and '-', and begins with a letter or digit"},
      {"post_mortem: a\n",
       "job.yaml:1:1: unknown field 'post_mortem': only the flag --post-mortem sets this"},
      {"host: a\n", "job.yaml:1:1: unknown field 'host': only the flag --host sets this"},
      {"banana: a\n",
       "job.yaml:1:1: unknown field 'banana': the fields are name, cluster, np, npernode, per, "
       "env, "
       "secrets, sync, workdir, command, timeout, grace, keep_processes, detach, engine, launcher, "
       "stdin, priority, after, share, array, parameters, hang_timeout, retry, retry_on, "
       "checkpoints, fetch, fetch_to, notify, slurm, kubernetes, on_full, environment, mpi, nccl, "
       "keep_jobs"},
      {"command: python train.py\n",
       "job.yaml:1:10: 'command': the command must be a list of words, such as [python, train.py]"},
      {"command: []\n", "job.yaml:1:10: 'command': the command is empty"},
      {"command: [a, [b]]\n", "job.yaml:1:14: 'command[1]' must be text, not a list"},
      {"np: -1\n", "job.yaml:1:5: 'np' must be a whole number from 1 to 100000, not '-1'"},
      {"np: \"2\"\n",
       "job.yaml:1:5: 'np' must be a whole number from 1 to 100000, not the text \"2\": leave out "
       "its quotes"},
      {"detach: 'true'\n",
       "job.yaml:1:9: 'detach' must be true or false, not the text \"true\": leave out its quotes"},
      {"detach: 'maybe'\n", "job.yaml:1:9: 'detach' must be true or false, not 'maybe'"},
      {"workdir: ~ann/x\n",
       "job.yaml:1:10: 'workdir': '~ann/x': of ~ only the home directory of the login is known on "
       "the nodes, ~/: write the full path, or ./ before a name that begins with ~"},
      {"checkpoints: $HOME/ckpt\n",
       "job.yaml:1:14: 'checkpoints': '$HOME/ckpt': variables are not expanded on the nodes: write "
       "the full path, or ~/ for the home directory there"},
      {"fetch: [out, $OUT]\n",
       "job.yaml:1:14: 'fetch[1]': '$OUT': variables are not expanded on the nodes: write the full "
       "path, or ~/ for the home directory there"},
      {"fetch_to: ~/out\n",
       "job.yaml:1:11: 'fetch_to': '~/out': ~ is not expanded in paths of this machine: write the "
       "full path, or one that starts in the current directory"},
      {"timeout: 0s\n",
       "job.yaml:1:10: 'timeout': the timeout is 0: give a longer one, or omit it for no timeout"},
      {"grace: 2h\n",
       "job.yaml:1:8: 'grace': the grace (--grace) is 2h, which is not within 0 to 1h"},
      {"hang_timeout: 1s\n",
       "job.yaml:1:15: 'hang_timeout': the time to a hang (--hang-timeout) is 1s, which is shorter "
       "than 2s"},
      {"hang_timeout: 0s\n",
       "job.yaml:1:15: 'hang_timeout': the time to a hang (--hang-timeout) is 0, which is shorter "
       "than 2s"},
      {"env: {RANK: 1}\n",
       "job.yaml:1:13: 'env.RANK': the variable RANK is set by fastgpu for each rank and cannot be "
       "overridden"},
      {"mpi: {'a b': 1}\n",
       "job.yaml:1:14: 'mpi.a b': 'a b' is not a name of a parameter of Open MPI: it has letters, "
       "digits and '_'"},
      {"mpi: {OMPI_MCA_btl: self}\n",
       "job.yaml:1:21: 'mpi.OMPI_MCA_btl': 'OMPI_MCA_btl' is the name of a variable: leave out "
       "OMPI_MCA_"},
      {"mpi: {oob_tcp_if_include: eth0}\n",
       "job.yaml:1:27: 'mpi.oob_tcp_if_include': leave it out: fastgpu sets up the connections of "
       "mpirun itself"},
      {"mpi: {btl_tcp_if_exclude: eth1}\n",
       "job.yaml:1:27: 'mpi.btl_tcp_if_exclude': the network that joins the nodes is used; "
       "btl_tcp_if_include chooses another"},
      {"nccl: {debug: INFO}\n",
       "job.yaml:1:15: 'nccl.debug': 'debug' is not a name of a setting of NCCL: it has capital "
       "letters, digits and '_', such as DEBUG for NCCL_DEBUG"},
      {"nccl: {NCCL_DEBUG: INFO}\n",
       "job.yaml:1:20: 'nccl.NCCL_DEBUG': 'NCCL_DEBUG' is the name of a variable: leave out NCCL_"},
      {"ncl: {DEBUG: INFO}\n", "job.yaml:1:1: unknown field 'ncl', did you mean 'nccl'?"},
      {"timeout: soon\n",
       "job.yaml:1:10: 'timeout': 'soon' is not a duration: write it like 250ms, 30s, 10m, 2h, "
       "1h30m, 7d or 1w"},
      {"timeout: 5\n",
       "job.yaml:1:10: 'timeout': '5' lacks its unit: write it like 250ms, 30s, 10m, 2h, 1h30m, 7d "
       "or 1w"},
      {"engine: pbs\n", "job.yaml:1:9: 'engine': 'pbs' is not one of mpirun, slurm, kubernetes"},
      {"engine: mpirrun\n",
       "job.yaml:1:9: 'engine': 'mpirrun' is not one of mpirun, slurm, kubernetes; did you mean "
       "mpirun?"},
      {"engine: slurn\n",
       "job.yaml:1:9: 'engine': 'slurn' is not one of mpirun, slurm, kubernetes; did you mean "
       "slurm?"},
      {"engine: ''\n", "job.yaml:1:9: 'engine': '' is not one of mpirun, slurm, kubernetes"},
      {"slurm: {memory: 64}\n",
       "job.yaml:1:17: 'slurm.memory': '64' is not an amount of memory such as 64G or 4000M, or 0 "
       "for all of it"},
      {"slurm: {memory: 64G, memory_per_cpu: 4G}\n",
       "job.yaml:1:38: 'slurm.memory_per_cpu': the memory is that of each node or of each core, "
       "not "
       "both"},
      {"slurm: {gpus: 'a100:'}\n",
       "job.yaml:1:15: 'slurm.gpus': 'a100:' is not a number of GPUs, such as 8 or a100:8"},
      {"slurm: {nodelist: 'a&b'}\n",
       "job.yaml:1:19: 'slurm.nodelist': 'a&b' is not a word of letters, digits and _-.,:@+=/[]"},
      {"slurm: {partitoin: gpu}\n",
       "job.yaml:1:9: unknown field 'slurm.partitoin', did you mean 'partition'?"},
      {"kubernetes: {x: 1}\n",
       "job.yaml:1:14: unknown field 'kubernetes.x': its fields are image, context, namespace, "
       "workers, gpus, cpus, memory"},
      {"secrets: [{name: A, file: b, x: c}]\n",
       "job.yaml:1:30: unknown field 'secrets[0].x': its fields are name, file"},
      {"secrets: [RANK]\n",
       "job.yaml:1:11: 'secrets[0]': the variable RANK is set by fastgpu for each rank and cannot "
       "be overridden"},
      {"after: ['']\n", "job.yaml:1:9: 'after[0]': this must not be empty"},
      {"array: 1-3%9999999999\n",
       "job.yaml:1:8: 'array': --array '1-3%9999999999' allows '9999999999' jobs at once, which is "
       "not a number from 1 to 1000000: write it like 1-20, 0-100:10, 1,5,9 or 1-20%4"},
      {"timeout: 999999w\n",
       "job.yaml:1:10: 'timeout': '999999w' is too long: a duration is at most 100 years"},
      {"slurm: {partition: 'a b'}\n",
       "job.yaml:1:20: 'slurm.partition': 'a b' is not a word of letters, digits and _-.,:@+=/"},
      {"kubernetes: {memory: much}\n",
       "job.yaml:1:22: 'kubernetes.memory': 'much' is not a quantity such as 8, 500m or 64Gi"},
      {"kubernetes: {namespace: A_b}\n",
       "job.yaml:1:25: 'kubernetes.namespace': 'A_b' is not a namespace: a-z, 0-9 and '-'"},
      {"kubernetes: {image: 'a b'}\n", "job.yaml:1:21: 'kubernetes.image': 'a b' is not one word"},
      {"slurm: {nodes: 0}\n",
       "job.yaml:1:16: 'slurm.nodes' must be a whole number from 1 to 100000, not '0'"},
      {"engine: [mpirun]\n", "job.yaml:1:9: 'engine' must be text, not a list"},
      {"detach: maybe\n", "job.yaml:1:9: 'detach' must be true or false, not 'maybe'"},
      {"env:\n  A B: 1\n",
       "job.yaml:2:8: 'env.A B': 'A B' is not a name of an environment variable"},
      {"env:\n  A:\n", "job.yaml:2:3: 'env.A' has no value: write one, or leave the field out"},
      {"env: [A]\n", "job.yaml:1:6: 'env' must be a map of names and values, not a list"},
      {"secrets: [TOKEN=abc]\n",
       "job.yaml:1:11: 'secrets[0]': a secret's value does not belong in a file like this: name "
       "the variable"},
      {"secrets: [{name: A}]\n",
       "job.yaml:1:11: 'secrets[0]': a secret is a variable's name, or has 'name' and 'file'"},
      {"launcher: torch\n",
       "job.yaml:1:11: 'launcher': 'torch' is not one of mpirun, torchrun, plain"},
      {"sync: ''\n", "job.yaml:1:7: 'sync': this must not be empty"},
      {"command: [\"a\\0b\"]\n",
       "job.yaml:1:11: 'command[0]' must be text without NUL bytes, not 'a\\x00b'"},
  };
  for (const auto& [text, message] : table) {
    const Error e = failure_of([&text = text] { read(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) == message);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
