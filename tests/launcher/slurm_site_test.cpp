#include "launcher/engines/slurm_site.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

const std::string kFacts =
    "host\tgpu1.lab\n"
    "user\t1000\n"
    "version\tslurm-wlm 22.05.8\n"
    "hardware\tNodeName=gpu1 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=2 "
    "RealMemory=16000\n"
    "gpu\t/dev/nvidia0\n"
    "gpu\t/dev/nvidia1\n"
    "end\n";

SlurmNode site_node(const std::string& name, const std::string& address) {
  SlurmNode node{.name = {name}, .address = address, .slots = 2};
  read_slurm_facts(kFacts, node);
  node.host = name;
  return node;
}

std::string without_line(std::string text, const std::string& beginning) {
  const auto at = text.starts_with(beginning) ? 0 : text.find("\n" + beginning) + 1;
  return text.erase(at, text.find('\n', at) + 1 - at);
}

bool text_has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::string together_refused(const std::vector<SlurmNode>& nodes) {
  const Error e = failure_of([&] { check_slurm_nodes(nodes); });
  CHECK(e.kind() == ErrorKind::conflict);
  return e.what();
}

TEST_SUITE_BEGIN("launcher/engines/slurm_site");

TEST_CASE("the facts of a node are read, and words that are unknown are passed over") {
  SlurmNode node;
  read_slurm_facts("colour\tblue\n" + kFacts, node);
  CHECK(node.host == "gpu1");
  CHECK(node.user_id == 1000);
  CHECK(node.version == "22.05.8");
  CHECK(node.hardware == SlurmHardware{.cpus = 8,
                                       .boards = 1,
                                       .sockets_per_board = 1,
                                       .cores_per_socket = 4,
                                       .threads_per_core = 2,
                                       .memory_mib = 16000});
  CHECK(node.gpus == std::vector<std::string>{"/dev/nvidia0", "/dev/nvidia1"});
  read_slurm_facts(without_line(without_line(kFacts, "gpu"), "gpu"), node);
  CHECK(node.gpus.empty());
}

TEST_CASE("facts that are incomplete, or that would change the files of other nodes, are refused") {
  const auto refuses = [](const std::string& text) {
    SlurmNode node;
    CHECK(failure_of([&] { read_slurm_facts(text, node); }).kind() == ErrorKind::remote);
  };
  refuses("");
  for (const char* missing : {"host", "user", "version", "hardware", "end"})
    refuses(without_line(kFacts, missing));
  for (const char* bad :
       {"host\ta b", "host\tn1 NodeAddr=10.0.0.9", "host\t", "user\t-1", "user\troot",
        "version\tslurm", "version\tslurm 22.05\rX=1", "gpu\t/dev/sda", "gpu\t/dev/nvidia0 X=1",
        "hardware\tCPUs=0 Boards=1 SocketsPerBoard=1 CoresPerSocket=1 ThreadsPerCore=1 "
        "RealMemory=1",
        "hardware\tCPUs=2"})
    refuses(std::string(bad) + "\n" + kFacts);
}

TEST_CASE("the first node has the controller, and every node offers what it has") {
  std::vector<SlurmNode> nodes = {site_node("lab-0", "10.0.0.1"), site_node("Lab.b-1", "10.0.0.2")};
  nodes[1].gpus.clear();
  nodes[1].host = "b-1";
  const std::string files = slurm_files(nodes);
  CHECK(files.starts_with("# slurm.conf\n"));
  CHECK(text_has_line(files, "SlurmctldHost=lab-0(10.0.0.1)"));
  CHECK(text_has_line(files, "SrunPortRange=60001-63000"));
  CHECK(text_has_line(files, "GresTypes=gpu"));
  CHECK(text_has_line(
      files,
      "NodeName=lab-0 NodeHostname=lab-0 NodeAddr=10.0.0.1 CPUs=8 Boards=1 "
      "SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=15200 Gres=gpu:2 "
      "State=UNKNOWN"));
  CHECK(text_has_line(files,
                      "NodeName=lab-b-1 NodeHostname=b-1 NodeAddr=10.0.0.2 CPUs=8 Boards=1 "
                      "SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=15200 "
                      "State=UNKNOWN"));
  CHECK(text_has_line(files, "# gres.conf\nNodeName=lab-0 Name=gpu File=/dev/nvidia0"));
  CHECK(files.find("NodeName=lab-b-1 Name=gpu") == std::string::npos);
  CHECK(files.find("config_overrides") == std::string::npos);
  CHECK(text_has_line(files, "EnforcePartLimits=ALL"));
  CHECK(text_has_line(files, "Epilog=/bin/true"));
  CHECK(text_has_line(files, "# cgroup.conf\nCgroupPlugin=cgroup/v1"));
}

TEST_CASE("a node with more slots than CPUs offers its slots") {
  std::vector<SlurmNode> nodes = {site_node("lab-0", "10.0.0.1")};
  nodes[0].slots = 12;
  nodes[0].gpus.clear();
  const std::string files = slurm_files(nodes);
  CHECK(text_has_line(files, "SlurmdParameters=config_overrides"));
  CHECK(
      text_has_line(files,
                    "NodeName=lab-0 NodeHostname=lab-0 NodeAddr=10.0.0.1 CPUs=12 RealMemory=15200 "
                    "State=UNKNOWN"));
  CHECK(files.find("GresTypes") == std::string::npos);
}

TEST_CASE("Slurm from 23.02 on is configured without control groups") {
  std::vector<SlurmNode> nodes = {site_node("lab-0", "10.0.0.1")};
  nodes[0].version = "23.11.4";
  CHECK(text_has_line(slurm_files(nodes), "CgroupPlugin=disabled"));
}

TEST_CASE("nodes on which Slurm cannot run together are named") {
  const std::vector<SlurmNode> good = {site_node("a-0", "10.0.0.1"), site_node("a-1", "10.0.0.2")};
  CHECK_NOTHROW(check_slurm_nodes(good));
  auto nodes = good;
  nodes[1].version = "22.05.2";
  CHECK_NOTHROW(check_slurm_nodes(nodes));
  nodes[1].version = "23.11.4";
  CHECK(together_refused(nodes) ==
        "Slurm cannot run on a-0 and a-1 together: their releases are 22.05.8 and 23.11.4");
  nodes = good;
  nodes[1].user_id = 1001;
  CHECK(together_refused(nodes).find("the numbers 1000 and 1001") != std::string::npos);
  nodes = good;
  nodes[1].address = "10.0.0.1";
  CHECK(together_refused(nodes).find("both have the address 10.0.0.1") != std::string::npos);
  nodes = good;
  nodes[1].host = "a-0";
  CHECK(together_refused(nodes).find("both have the host name a-0") != std::string::npos);
  nodes = good;
  nodes[1].address = "fd00::1";
  CHECK(together_refused(nodes).find("IPv4") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
