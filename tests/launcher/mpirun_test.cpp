#include "launcher/engines/mpirun.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "agent/protocol/plan.hpp"
#include "launcher/engines/torchrun.hpp"
#include "launcher/job_files.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;
using Words = std::vector<std::string>;

MpirunPlan two_nodes() {
  return {.job_id = "train-1",
          .mpirun = "/usr/bin/mpirun",
          .hostfile = "/root/hosts",
          .ssh_config = ".fastgpu/ssh_config",
          .ranks = 4,
          .nodes = 2,
          .network = "10.0.0.0/30",
          .forward = {"PORT"},
          .program = {"agent", "rank", "a b"}};
}

JobFilesRequest request() {
  return {.id = "train-1",
          .spec = {.name = {"train"},
                   .argv = {"python", "a b.py"},
                   .environment = {"TOKEN=secret"},
                   .timeout = std::chrono::seconds(5)},
          .nodes = {{{{"n-0"}, 0, 2}, {"10.0.0.1", 22, "root", {"ssh-ed25519 AAA0"}}},
                    {{{"n-1"}, 2, 1}, {"10.0.0.2", 2222, "root", {"ssh-ed25519 AAA1"}}}},
          .access = {"c0ffee00", Secret("KEY")},
          .communicator_secret = Secret("hush")};
}

agent::JobNodeFacts facts(const std::string& boot_id = "a") {
  return {.host = "n",
          .home = "/root",
          .root = true,
          .cores = 2,
          .boot_id = boot_id,
          .mpirun = "/usr/bin/mpirun",
          .mpirun_version = "mpirun (Open MPI) 4.1.4"};
}

const NodeCommands kCommands({"0123456789abcdef"}, "train-1");

bool has(const Words& words, const Words& part) {
  return std::ranges::search(words, part).begin() != words.end();
}

TEST_SUITE_BEGIN("launcher/engines/mpirun");

TEST_CASE("one node needs no ssh and no network") {
  MpirunPlan plan = two_nodes();
  plan.ssh_config.clear();
  plan.ranks = 2;
  CHECK(mpirun_argv(plan) == Words{"/usr/bin/mpirun",
                                   "--hostfile",
                                   "/root/hosts",
                                   "-np",
                                   "2",
                                   "--map-by",
                                   "slot",
                                   "--bind-to",
                                   "none",
                                   "--mca",
                                   "odls_base_sigkill_timeout",
                                   "0",
                                   "--mca",
                                   "ess_base_forward_signals",
                                   "SIGURG",
                                   "--mca",
                                   "plm",
                                   "rsh,isolated",
                                   "-x",
                                   "PORT",
                                   "agent",
                                   "rank",
                                   "a b"});
}

TEST_CASE("Open MPI 4.1 starts its daemons by our ssh configuration, on the cluster's network") {
  CHECK(mpirun_argv(two_nodes()) == Words{"/usr/bin/mpirun",
                                          "--hostfile",
                                          "/root/hosts",
                                          "-np",
                                          "4",
                                          "--map-by",
                                          "slot",
                                          "--bind-to",
                                          "none",
                                          "--mca",
                                          "odls_base_sigkill_timeout",
                                          "0",
                                          "--mca",
                                          "ess_base_forward_signals",
                                          "SIGURG",
                                          "--mca",
                                          "plm",
                                          "rsh",
                                          "--mca",
                                          "plm_rsh_agent",
                                          "ssh",
                                          "--mca",
                                          "plm_rsh_args",
                                          "-x -F .fastgpu/ssh_config",
                                          "--mca",
                                          "plm_rsh_no_tree_spawn",
                                          "1",
                                          "--mca",
                                          "orte_launch_agent",
                                          "env FASTGPU_JOB_ID=train-1 orted",
                                          "--mca",
                                          "oob_tcp_keepalive_time",
                                          "1",
                                          "--mca",
                                          "oob_tcp_keepalive_intvl",
                                          "2",
                                          "--mca",
                                          "oob_tcp_keepalive_probes",
                                          "4",
                                          "--mca",
                                          "orte_keep_fqdn_hostnames",
                                          "1",
                                          "--mca",
                                          "oob_tcp_if_include",
                                          "10.0.0.0/30",
                                          "--mca",
                                          "btl_tcp_if_include",
                                          "10.0.0.0/30",
                                          "-x",
                                          "PORT",
                                          "agent",
                                          "rank",
                                          "a b"});
}

TEST_CASE("a file of parameters that leaves networks out is replaced by its other settings") {
  MpirunPlan plan = two_nodes();
  plan.forward.push_back("OMPI_MCA_pml");
  plan.file_parameters = {
      "btl=^openib", "btl_tcp_if_exclude=lo",         "oob_tcp_if_exclude=docker0", "pml=ucx",
      "plm=slurm",   "coll_tuned_use_dynamic_rules=1"};
  const Words words = mpirun_argv(plan);
  CHECK(has(words, {"--mca", "mca_base_param_files", "none", "--mca", "btl", "^openib", "--mca",
                    "coll_tuned_use_dynamic_rules", "1", "-x", "PORT"}));
  plan.network.reset();
  CHECK_FALSE(has(mpirun_argv(plan), {"mca_base_param_files"}));
}

TEST_CASE(
    "the files of parameters of the first node count if those of any node leave networks out") {
  std::vector<agent::JobNodeFacts> both = {facts(), facts()};
  const auto spec_text = [&] { return start_files(request(), both, kCommands).back().content; };
  both[0].addresses = {"10.0.0.1/24"};
  both[1].addresses = {"10.0.0.2/24"};
  both[0].mpi_parameters = {"btl=^openib"};
  CHECK(spec_text().find("mca_base_param_files") == std::string::npos);
  both[1].mpi_parameters = {"btl_tcp_if_exclude=lo,docker0"};
  CHECK(spec_text().find("mca_base_param_files") != std::string::npos);
  CHECK(spec_text().find("^openib") != std::string::npos);
}

TEST_CASE("Open MPI 5 gets the same under the names of its own runtime") {
  MpirunPlan plan = two_nodes();
  plan.version = OpenMpi::v5;
  const Words words = mpirun_argv(plan);
  CHECK(has(words, {"--prtemca", "plm", "ssh"}));
  CHECK(has(words, {"--prtemca", "plm_ssh_args", "-x -F .fastgpu/ssh_config"}));
  CHECK(has(words, {"--prtemca", "prte_if_include", "10.0.0.0/30"}));
  CHECK(has(words, {"--prtemca", "prte_launch_agent", "env FASTGPU_JOB_ID=train-1 prted"}));
  CHECK(has(words, {"--mca", "btl_tcp_if_include", "10.0.0.0/30"}));
  CHECK_FALSE(has(words, {"plm_rsh_agent"}));
}

TEST_CASE("host names are whole, and equal ones keep collective operations of Open MPI 5 apart") {
  MpirunPlan plan = two_nodes();
  plan.same_host_names = true;
  CHECK_FALSE(has(mpirun_argv(plan), {"coll"}));
  plan.version = OpenMpi::v5;
  const Words words = mpirun_argv(plan);
  CHECK(has(words, {"--prtemca", "prte_keep_fqdn_hostnames", "1"}));
  CHECK(has(words, {"--pmixmca", "pmix_keep_fqdn_hostnames", "1"}));
  CHECK(has(words, {"--mca", "coll", "^han"}));
  plan.same_host_names = false;
  CHECK_FALSE(has(mpirun_argv(plan), {"coll"}));
}

TEST_CASE("what mpirun passes on to daemons is there for every user of every node") {
  JobFilesRequest mixed = request();
  mixed.nodes[1].peer.user = "ann";
  std::vector<agent::JobNodeFacts> both = {facts(), facts("b")};
  both[0].home = "/data/a b";
  both[1].home = "/home/ann";
  for (const char* version : {"mpirun (Open MPI) 4.1.4", "mpirun (Open MPI) 5.0.3"}) {
    both[0].mpirun_version = both[1].mpirun_version = version;
    const auto files = start_files(mixed, both, kCommands);
    const Words words = agent::parse_plan(files.back().content).argv;
    CHECK(
        std::ranges::find(words, "env .fastgpu/bin/fastgpu-agent-0123456789abcdef start-daemon") !=
        words.end());
    CHECK(std::ranges::find(words, "-x -F .fastgpu/jobs/train-1/ssh_config") != words.end());
  }
}

TEST_CASE("root, crowds and many nodes have settings of their own") {
  MpirunPlan plan = two_nodes();
  CHECK_FALSE(has(mpirun_argv(plan), {"--allow-run-as-root"}));
  CHECK_FALSE(has(mpirun_argv(plan), {"plm_rsh_num_concurrent"}));
  plan.root = plan.crowded = true;
  plan.nodes = 65;
  const Words words = mpirun_argv(plan);
  CHECK(has(words, {"--allow-run-as-root"}));
  CHECK(has(words, {"--mca", "mpi_yield_when_idle", "1"}));
  CHECK(has(words, {"--mca", "plm_rsh_num_concurrent", "64"}));
}

TEST_CASE("the version is read, and another MPI is refused") {
  CHECK(parse_open_mpi("mpirun (Open MPI) 4.1.4") == OpenMpi::v4);
  CHECK(parse_open_mpi("mpirun (Open MPI) 5.0.3") == OpenMpi::v5);
  for (const std::string line : {"HYDRA build details:", "mpirun (Open MPI) 1.10.7", "",
                                 "Intel(R) MPI Library for Linux* OS, Version 2021.9"}) {
    const Error e = failure_of([&] { parse_open_mpi(line); });
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(std::string(e.what()).find(line) != std::string::npos);
  }
}

TEST_CASE("each node gets its ranks, the program and the variables in a private file") {
  const auto files = rank_files(request(), request().nodes[1]);
  REQUIRE(files.size() == 3);
  CHECK(files[0].name == "jobs/train-1/rank");
  CHECK(files[0].content.find("hush") == std::string::npos);
  CHECK(files[0].content.find("secret") == std::string::npos);
  CHECK(files[1].name == "jobs/train-1/variables");
  CHECK(files[1].mode == 0600);
  const Words variables = agent::parse_variables(files[1].content);
  const agent::JobPlan plan = agent::parse_plan(files[0].content);
  CHECK(plan.argv == Words{"python", "a b.py"});
  CHECK(plan.ranks == std::vector<int>{2});
  CHECK(plan.ranks_by_node == std::vector<int>{2, 1});
  CHECK(has(variables, {"FASTGPU_COMM_MASTER_ADDR=10.0.0.1", "MASTER_ADDR=10.0.0.1",
                        "PYTHONUNBUFFERED=1", "TOKEN=secret"}));
  CHECK(has(variables, {"LOCAL_WORLD_SIZE=1", "NODE_RANK=1", "GROUP_RANK=1", "FASTGPU_NODE_RANK=1",
                        "FASTGPU_NUM_NODES=2", "FASTGPU_NODE_IPS=10.0.0.1\n10.0.0.2"}));
  CHECK(files[1].content.find("hush") == std::string::npos);
  CHECK(files[2].name == "jobs/train-1/comm-secret");
  CHECK(files[2].mode == 0600);
  CHECK(files[2].content == "hush");
}

TEST_CASE("the first node gets the key, the pinned hosts, the hostfile and the plan") {
  const std::vector<agent::JobNodeFacts> both = {facts(), facts("b")};
  const auto files = start_files(request(), both, kCommands);
  REQUIRE(files.size() == 6);
  CHECK(files[0].name == "clusters/c0ffee00/id_ed25519");
  CHECK(files[0].content == "KEY");
  CHECK(files[1].content == "10.0.0.1 ssh-ed25519 AAA0\n[10.0.0.2]:2222 ssh-ed25519 AAA1\n");
  CHECK(files[2].content.find("StrictHostKeyChecking yes") != std::string::npos);
  CHECK(files[3].content == "10.0.0.1 n-0\nnode-1 n-1\n");  // Its port is not 22.
  CHECK(files[4].content == "10.0.0.1 slots=2\nnode-1 slots=1\n");
  const agent::JobPlan plan = agent::parse_plan(files[5].content);
  CHECK(plan.lease == std::chrono::seconds(30));
  CHECK(plan.timeout == std::chrono::seconds(5));
  CHECK(plan.port_variables == Words{"FASTGPU_COMM_MASTER_PORT", "MASTER_PORT"});
  CHECK(has(plan.argv, {"-x", "FASTGPU_COMM_MASTER_PORT"}));
  CHECK(has(plan.argv, {"-x", "MASTER_PORT"}));
  for (const std::string& word : plan.argv) {
    CHECK(word.find("secret") == std::string::npos);
    CHECK(word.find("hush") == std::string::npos);
  }
}

TEST_CASE("the programs of a job have its grace, on the first node and on the others") {
  JobFilesRequest asked = request();
  asked.spec.grace = std::chrono::seconds(42);
  asked.spec.leftovers = Leftovers::kept;
  const std::vector<agent::JobNodeFacts> both = {facts(), facts("b")};
  const auto files = start_files(asked, both, kCommands);
  for (const std::string& text : {files[5].content, rank_files(asked, asked.nodes[1])[0].content}) {
    const agent::JobPlan plan = agent::parse_plan(text);
    CHECK(plan.grace == std::chrono::seconds(42));
    CHECK(plan.keeps_processes);
  }
}

TEST_CASE("a detached job has no lease, and one node needs no key") {
  JobFilesRequest alone = request();
  alone.nodes.resize(1);
  alone.spec.presence = Presence::detached;
  const std::vector<agent::JobNodeFacts> one = {facts()};
  const auto files = start_files(alone, one, kCommands);
  REQUIRE(files.size() == 2);
  CHECK(agent::parse_plan(files[1].content).lease.count() == 0);
}

TEST_CASE("nodes on one machine share its cores") {
  const auto yields = [](const std::vector<agent::JobNodeFacts>& both) {
    return has(agent::parse_plan(start_files(request(), both, kCommands)[5].content).argv,
               {"mpi_yield_when_idle"});
  };
  CHECK(yields({facts("a"), facts("a")}));
  CHECK_FALSE(yields({facts("a"), facts("b")}));
}

TEST_CASE("each process has its share of the cores, and the user's word on it is kept") {
  const auto threads = [](JobFilesRequest asked, std::vector<agent::JobNodeFacts> both) {
    const agent::JobPlan plan = agent::parse_plan(start_files(asked, both, kCommands)[5].content);
    std::string found;
    for (const std::string& assignment : plan.environment)
      if (assignment.starts_with("OMP_NUM_THREADS=")) found = assignment.substr(16);
    CHECK(has(plan.argv, {"-x", "OMP_NUM_THREADS"}) == !found.empty());
    return found;
  };
  const auto with_cores = [](const std::string& boot_id, int cores) {
    agent::JobNodeFacts node = facts(boot_id);
    node.cores = cores;
    return node;
  };
  CHECK(threads(request(), {with_cores("a", 16), with_cores("b", 16)}) == "8");
  CHECK(threads(request(), {with_cores("a", 16), with_cores("b", 4)}) == "4");
  CHECK(threads(request(), {with_cores("a", 16), with_cores("a", 16)}) == "5");
  CHECK(threads(request(), {with_cores("a", 1), with_cores("b", 16)}) == "1");
  JobFilesRequest own = request();
  own.spec.environment = {"OMP_NUM_THREADS=3"};
  CHECK(threads(own, {with_cores("a", 16), with_cores("b", 16)}).empty());
}

TEST_CASE("a plain job needs no mpirun, and its ranks get the same variables") {
  JobFilesRequest plain = request();
  plain.spec.launcher = Launcher::plain;
  std::vector<agent::JobNodeFacts> both = {facts("a"), facts("b")};
  both[0].mpirun.clear();
  const agent::JobPlan plan = agent::parse_plan(start_files(plain, both, kCommands)[5].content);
  REQUIRE(plan.argv.size() == 3);
  CHECK(plan.argv[0] == "/bin/sh");
  for (const char* part : {" launch .fastgpu/jobs/train-1 ", " node-ranks .fastgpu/jobs/train-1",
                           "--ssh-config .fastgpu/jobs/train-1/ssh_config", "--pass MASTER_PORT",
                           "--pass OMP_NUM_THREADS"})
    CHECK_MESSAGE(plan.argv[2].find(part) != std::string::npos, plan.argv[2]);
  CHECK(agent::parse_plan(rank_files(plain, plain.nodes[1])[0].content).world_size == 3);
}

TEST_CASE("a node without mpirun, or with another one, is named") {
  std::vector<agent::JobNodeFacts> both = {facts(), facts()};
  both[1].mpirun = "/opt/mpirun";
  const auto message = [&] {
    return std::string(failure_of([&] { start_files(request(), both, kCommands); }).what());
  };
  CHECK(message().find("n-1: mpirun is /opt/mpirun, but /usr/bin/mpirun on n-0") == 0);
  both[1].mpirun = both[0].mpirun;
  both[1].mpirun_version = "mpirun (Open MPI) 5.0.11";
  CHECK(message().find("n-1: mpirun (Open MPI) 5.0.11, but mpirun (Open MPI) 4.1.4 on n-0") == 0);
  both[1].mpirun_version.clear();
  CHECK(message().find("n-1: `/usr/bin/mpirun --version` does not run as it should") == 0);
  both[1].is_mpirun_silent = true;
  CHECK(message().find("n-1: /usr/bin/mpirun does not answer: `/usr/bin/mpirun --version` has not "
                       "ended within 30s") == 0);
  both[1].is_mpirun_silent = false;
  both[0].mpirun_version = both[1].mpirun_version = "mpirun (Open MPI) 3.1.0";
  CHECK(message().find("n-0: its mpirun is 'mpirun (Open MPI) 3.1.0'") == 0);
  both[0].mpirun_version = both[1].mpirun_version = facts().mpirun_version;
  both[1].has_daemon = false;
  CHECK(message().find("n-1: mpirun's daemon (orted, or prted of Open MPI 5) is missing") == 0);
  both[1].has_daemon = true;
  CHECK(start_files(request(), both, kCommands).size() == 6);
  both[1].mpirun.clear();
  CHECK(message().find("n-1: mpirun is missing: install Open MPI") == 0);
  CHECK(message().find("--launcher plain") != std::string::npos);
  CHECK(message().find("--environment") != std::string::npos);
  JobFilesRequest other = request();
  other.spec.launcher = Launcher::torchrun;
  other.spec.mpirun_in = "/opt/env/bin";
  const std::string said = failure_of([&] { start_files(other, both, kCommands); }).what();
  CHECK(said.ends_with("openmpi-bin)"));
}

TEST_CASE("a program without a slash is tried where a login has its PATH, and nowhere else") {
  const auto is_tried = [](const JobSpec& spec) {
    return kCommands.trial_facts(spec).find("--in-path " + spec.argv.front()) != std::string::npos;
  };
  JobSpec spec = request().spec;
  spec.argv = {"train", "--fast"};
  CHECK(is_tried(spec));
  JobSpec other = spec;
  other.argv = {"./train"};
  CHECK_FALSE(is_tried(other));
  other = spec;
  other.launcher = Launcher::torchrun;
  CHECK_FALSE(is_tried(other));
  other = spec;
  other.environment = {"A=b", "PATH=/opt/p/bin"};
  CHECK_FALSE(is_tried(other));
  other = spec;
  other.used_environment = {.name = "torch", .prefix = "/opt/envs"};
  CHECK_FALSE(is_tried(other));
}

TEST_CASE("a node without torchrun is named, if the job is started by it") {
  std::vector<agent::JobNodeFacts> both = {facts(), facts()};
  both[1].has_torchrun = false;
  JobFilesRequest other = request();
  CHECK(start_files(other, both, kCommands).size() == 6);
  CHECK(kCommands.trial_facts(other.spec).find("torchrun") == std::string::npos);
  other.spec.launcher = Launcher::torchrun;
  const std::string said = failure_of([&] { start_files(other, both, kCommands); }).what();
  CHECK(said.starts_with("n-1: torchrun is missing: use an environment that has PyTorch"));
  other.spec.environment = {"PATH=/opt/p/bin"};
  for (const std::string& command :
       {kCommands.trial_facts(other.spec), kCommands.put_new_files_and_facts(other.spec, {})})
    CHECK_MESSAGE(command.find("--torchrun-path /opt/p/bin") != std::string::npos, command);
}

TEST_CASE("a node whose interpreter cannot run torchrun is named, if the user names that") {
  JobFilesRequest asked = request();
  asked.spec.launcher = Launcher::torchrun;
  asked.spec.argv = {"/opt/p/bin/python", "a.py"};
  asked.spec.argv = torchrun_argv(asked.spec);
  const auto has_words = [&](const std::string& words) {
    return kCommands.trial_facts(asked.spec).find(words) != std::string::npos &&
           kCommands.put_new_files_and_facts(asked.spec, {}).find(words) != std::string::npos;
  };
  CHECK(has_words("--torchrun-python /opt/p/bin/python"));
  std::vector<agent::JobNodeFacts> both = {facts(), facts()};
  CHECK(start_files(asked, both, kCommands).size() == 6);
  both[1].torchrun_obstacle = "has no PyTorch";
  const std::string said = failure_of([&] { start_files(asked, both, kCommands); }).what();
  CHECK_MESSAGE(said.starts_with("n-1: /opt/p/bin/python has no PyTorch: "), said);
  both[1].torchrun_obstacle = "/v/bin/torchrun: its interpreter /old does not exist";
  asked.spec.argv = torchrun_argv({.name = {"x"}, .argv = {"python3", "a.py"}});
  const std::string broken = failure_of([&] { start_files(asked, both, kCommands); }).what();
  CHECK_MESSAGE(broken.starts_with("n-1: /v/bin/torchrun: its interpreter /old does not exist: "
                                   "make its environment again there"),
                broken);
  asked.spec.argv = torchrun_argv({.name = {"x"}, .argv = {"/opt/p/bin/python", "a.py"}});
  // The node cannot look as the job will.
  asked.spec.environment = {"PYTHONPATH=lib"};
  CHECK_FALSE(has_words("--torchrun"));
  asked.spec.environment.clear();
  asked.spec.argv = {"./venv/bin/python", "a.py"};
  asked.spec.argv = torchrun_argv(asked.spec);
  CHECK_FALSE(has_words("--torchrun"));
}

TEST_CASE("what mpirun would take for another name is called by a name of ours") {
  const auto named = [](const std::string& address, std::uint16_t port, std::size_t place) {
    return mpirun_name({.address = address, .port = port, .user = "ada", .host_keys = {}}, place);
  };
  CHECK(named("east.example.test", 22, 0) == "localhost");
  CHECK(named("west.example.test", 22, 1) == "node-1");
  CHECK(named("n_2", 22, 2) == "node-2");
  CHECK(named("10.0.0.1", 2201, 0) == "localhost");
  CHECK(named("10.0.0.1", 2202, 1) == "node-1");
}

TEST_CASE("a node with an IPv6 address has another name for mpirun, which takes no colons") {
  const std::vector<Peer> peers = {
      {.address = "fd00::1", .port = 22, .user = "ada", .host_keys = {}},
      {.address = "fd00::2", .port = 2200, .user = "ada", .host_keys = {}},
      {.address = "10.0.0.3", .port = 22, .user = "ada", .host_keys = {}}};
  CHECK(mpirun_name(peers[0], 0) == "localhost");
  CHECK(mpirun_name(peers[1], 1) == "node-1");
  CHECK(mpirun_name(peers[2], 2) == "10.0.0.3");
  const std::string config = ssh_config(peers, "/root/x/id_ed25519", "/root/x/known_hosts", "");
  CHECK(config.find("Host node-1\n  HostName fd00::2\n  Port 2200\n") != std::string::npos);
  CHECK(config.find("Host 10.0.0.3\n  HostName 10.0.0.3\n") != std::string::npos);
}

TEST_CASE("the percent signs of a home directory are no sequences of ssh") {
  const std::string config =
      ssh_config({}, "/home/100%d/x/id_ed25519", "/home/100%d/y/known_hosts", "");
  CHECK(config.find("IdentityFile \"/home/100%%d/x/id_ed25519\"\n") != std::string::npos);
  CHECK(config.find("UserKnownHostsFile \"/home/100%%d/y/known_hosts\"\n") != std::string::npos);
}

TEST_CASE("nodes with an ssh whose key exchange is slow by default begin with a fast one") {
  const auto has_line = [](const std::string& version) {
    return ssh_config({}, "/root/key", "/root/hosts", version)
               .find("  KexAlgorithms ^curve25519-sha256\n") != std::string::npos;
  };
  CHECK(has_line("OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.19 27 Jan 2026"));
  CHECK(has_line("OpenSSH_10.0p2, OpenSSL 3.5.4"));
  CHECK(!has_line("OpenSSH_8.9p1 Ubuntu-3ubuntu0.13, OpenSSL 3.0.2 15 Mar 2022"));
  CHECK(!has_line("OpenSSH_7.4p1, OpenSSL 1.0.2k-fips  26 Jan 2017"));  // It knows no '^'.
  CHECK(!has_line(""));
  CHECK(!has_line("Dropbear v2022.83"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
