#include "provision/cluster_file/cluster_file.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using test::failure_of;

ClusterFile read(const std::string& text) {
  return read_cluster_file(config::Document::parse(text, "cluster.yaml"));
}

TEST_SUITE_BEGIN("provision/cluster_file");

TEST_CASE("what ends or stops a cluster by itself is read as it is written") {
  const ClusterFile file = read(
      "max-life: 8h\nmax-cost: 50usd\nunattended: 2h\nidle: stop after 30m, delete after 7d\n");
  CHECK(file.guards.max_life == "8h");
  CHECK(file.guards.max_cost == "50usd");
  CHECK(file.guards.unattended == "2h");
  CHECK(file.guards.idle_stop == "30m");
  CHECK(file.guards.idle_delete == "7d");
  CHECK(read("idle: delete after 1d\n").guards.idle_stop.empty());
  for (const char* wrong : {"max-life: soon", "idle: 30m", "idle: stop after", "idle: stop after x",
                            "idle: stop after 1m, stop after 2m", "idle: stop after 1m,"}) {
    CAPTURE(wrong);
    CHECK(failure_of([&] { read(wrong); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("every field of a cluster file is read") {
  const ClusterFile file = read(R"(name: train
provider: static
nodes: 2
slots: 8
link-rate: 1gbit
user: ada
hosts:
  - 10.0.0.1
  - name: second
    address: "fd00::2"
    port: 2222
    user: eve
    slots: 4
    identity: ~/.ssh/id_ed25519
    host_key: ssh-ed25519 AAAA
    jump:
      - {address: gate.example, port: 22, user: bob, host_keys: [ssh-ed25519 BBBB]}
      - inner.example
)");
  CHECK(file.name == "train");
  CHECK(file.provider == "static");
  CHECK(file.nodes == 2);
  CHECK(file.slots == 8);
  CHECK(file.link_rate == BitRate{1'000'000'000});
  CHECK(file.user == "ada");
  REQUIRE(file.hosts.size() == 2);
  CHECK(file.hosts[0].address == "10.0.0.1");
  CHECK_FALSE(file.hosts[0].port);
  CHECK(file.hosts[0].where == "cluster.yaml:8:5");
  const HostEntry& second = file.hosts[1];
  CHECK(second.name == "second");
  CHECK(second.address == "fd00::2");
  CHECK(second.port == 2222);
  CHECK(second.user == "eve");
  CHECK(second.slots == 4);
  CHECK(second.identity == "~/.ssh/id_ed25519");
  CHECK(second.host_keys == std::vector<std::string>{"ssh-ed25519 AAAA"});
  REQUIRE(second.jumps.size() == 2);
  CHECK(second.jumps[0].user == "bob");
  CHECK(second.jumps[0].host_keys == std::vector<std::string>{"ssh-ed25519 BBBB"});
  CHECK(second.jumps[1].address == "inner.example");
}

/// "name=user@address:port"
std::string shown(const HostEntry& host) {
  return (host.name.empty() ? "" : host.name + "=") + (host.user.empty() ? "" : host.user + "@") +
         host.address + (host.port ? ":" + std::to_string(*host.port) : "");
}

std::vector<std::string> shown(const ClusterFile& file) {
  std::vector<std::string> all;
  for (const HostEntry& host : file.hosts)
    all.push_back(shown(host));
  return all;
}

TEST_CASE("hosts are listed by ranges, users and ports, in a list, a map or one word") {
  using Hosts = std::vector<std::string>;
  CHECK(shown(read("hosts:\n  - n[01-02]\n  - ann@login.lab:2222\n  - \"[fd00::1]:22\"\n")) ==
        Hosts{"n01", "n02", "ann@login.lab:2222", "fd00::1:22"});
  CHECK(shown(read("hosts: n[1,3-4],m1\n")) == Hosts{"n1", "n3", "n4", "m1"});
  CHECK(shown(read("hosts:\n  - {address: \"ann@n[1-2].lab\", name: \"gpu-[1-2]\", port: 23}\n")) ==
        Hosts{"gpu-1=ann@n1.lab:23", "gpu-2=ann@n2.lab:23"});
}

TEST_CASE("port, identity and jump hosts of the file hold for hosts without their own") {
  const ClusterFile file = read(R"(port: 2222
identity: ~/.ssh/lab
jump: ann@gate.example:23
hosts:
  - n1
  - n2:22
  - {address: n3, port: 24, identity: own, jump: none}
  - {address: n4, jump: [a, b]}
)");
  REQUIRE(file.hosts.size() == 4);
  CHECK(shown(file) == std::vector<std::string>{"n1:2222", "n2:22", "n3:24", "n4:2222"});
  CHECK(file.hosts[0].identity == "~/.ssh/lab");
  CHECK(file.hosts[2].identity == "own");
  REQUIRE(file.hosts[1].jumps.size() == 1);
  CHECK(file.hosts[1].jumps[0].address == "gate.example");
  CHECK(file.hosts[1].jumps[0].user == "ann");
  CHECK(file.hosts[1].jumps[0].port == 23);
  CHECK(file.hosts[2].jumps.empty());
  CHECK(file.hosts[3].jumps.size() == 2);
}

TEST_CASE("a scheduler is one that fastgpu can set up, or none") {
  CHECK(read("scheduler: slurm\n").scheduler == state::Scheduler::slurm);
  CHECK(read("scheduler: none\n").scheduler == state::Scheduler::none);
  CHECK_FALSE(read("name: a\n").scheduler);
  const Error e = failure_of([] { read("scheduler: slrum\n"); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("slurm") != std::string::npos);
}

TEST_CASE("what is not written is absent, also in an empty file") {
  for (const char* text : {"", "# nothing\n", "cloud:\n", "---\n"}) {
    CAPTURE(text);
    const ClusterFile file = read(text);
    CHECK_FALSE(file.name);
    CHECK_FALSE(file.nodes);
    CHECK(file.hosts.empty());
  }
}

struct Bad {
  const char* text;
  const char* message;
};

TEST_CASE("what cannot be is refused with line and column") {
  const std::vector<Bad> table = {
      {"name: a\nnode: 2\n", "cluster.yaml:2:1: unknown field 'node', did you mean 'nodes'?"},
      {"banana: 2\n",
       "cluster.yaml:1:1: unknown field 'banana': the fields are name, provider, nodes, slots, "
       "link-rate, user, port, identity, jump, hosts, max-life, max-cost, unattended, idle, "
       "scheduler, cloud"},
      {"nodes:\n", "cluster.yaml:1:1: 'nodes' has no value: write one, or leave the field out"},
      {"cloud: {gpus: }\n",
       "cluster.yaml:1:9: 'cloud.gpus' has no value: write one, or leave the field out"},
      {"cloud: {gpus: A100:8, region: ~}\n",
       "cluster.yaml:1:23: 'cloud.region' has no value: write one, or leave the field out"},
      {"max-life:\n",
       "cluster.yaml:1:1: 'max-life' has no value: write one, or leave the field out"},
      {"max-cost: 8\n",
       "cluster.yaml:1:11: 'max-cost': '8' has no currency: write 8USD, or another one"},
      {"cloud:\n  max-price: 3\n",
       "cluster.yaml:2:14: 'cloud.max-price': '3' has no currency: write 3USD, or another one"},
      {"cloud:\n  hold-cost: cheap\n",
       "cluster.yaml:2:14: 'cloud.hold-cost': 'cheap' is not an amount of money: write 3USD or "
       "0.25CNY"},
      {"cloud:\n  ssh-from: [192.0.2.1, banana]\n",
       "cluster.yaml:2:25: 'cloud.ssh-from[1]': 'banana' is not a range of addresses: write "
       "192.0.2.7/32 or 192.0.2.0/24"},
      {"nodes: many\n",
       "cluster.yaml:1:8: 'nodes' must be a whole number from 1 to 10000, not 'many'"},
      {"nodes: 0\n", "cluster.yaml:1:8: 'nodes' must be a whole number from 1 to 10000, not '0'"},
      {"nodes: 1.5\n",
       "cluster.yaml:1:8: 'nodes' must be a whole number from 1 to 10000, not '1.5'"},
      {"nodes: 99999999999999999999\n",
       "cluster.yaml:1:8: 'nodes' must be a whole number from 1 to 10000, not "
       "'99999999999999999999'"},
      {"nodes: \"2\"\n",
       "cluster.yaml:1:8: 'nodes' must be a whole number from 1 to 10000, not the text \"2\": "
       "leave out its quotes"},
      {"nodes: [2]\n",
       "cluster.yaml:1:8: 'nodes' must be a whole number from 1 to 10000, not a list"},
      {"name: a/b\n",
       "cluster.yaml:1:7: 'name': cluster name 'a/b' is not usable: use 1 to 40 letters, digits, "
       "'.' and '-', begin with a letter, and begin and end each part between dots with a letter "
       "or "
       "a digit"},
      {"link-rate: fast\n",
       "cluster.yaml:1:12: 'link-rate': 'fast' is not a link rate: write it like 300mbit, 1gbit or "
       "10gbit"},
      {"- a\n", "cluster.yaml:1:1: the file must be a map of names and values, not a list"},
      {"name: a\nname: b\n", "cluster.yaml:2:1: field 'name' occurs twice"},
      {"a: 1\n---\nb: 2\n",
       "cluster.yaml:2:1: a second document begins here, and only one is read"},
      {"hosts: []\n", "cluster.yaml:1:8: 'hosts': there must be at least one host"},
      {"provider: local\nhosts: [a]\n",
       "cluster.yaml:1:11: 'provider': hosts that are listed are those of provider static, not of "
       "'local'"},
      {"hosts: [a]\nprovider: aws\n",
       "cluster.yaml:2:11: 'provider': hosts that are listed are those of provider static, not of "
       "'aws'"},
      {"hosts:\n  - port: 22\n", "cluster.yaml:2:5: 'hosts[0]': 'address' is missing"},
      {"hosts:\n  - address: -oProxyCommand=x\n",
       "cluster.yaml:2:14: 'hosts[0].address': '-oProxyCommand=x' is neither an address nor a host "
       "name"},
      {"hosts:\n  - address: a\n    port: 70000\n",
       "cluster.yaml:3:11: 'hosts[0].port' must be a whole number from 1 to 65535, not '70000'"},
      {"hosts:\n  - n[4-1]\n",
       "cluster.yaml:2:5: 'hosts[0]': 'n[4-1]' is not a range of hosts: write n[01-04] or "
       "n[1,3-5]; "
       "an "
       "IPv6 address with a port is [fd00::1]:22"},
      {"hosts: a b\n", "cluster.yaml:1:8: 'hosts': 'a b' is neither an address nor a host name"},
      {"hosts:\n  - a:70000\n",
       "cluster.yaml:2:5: 'hosts[0]': 'a:70000' has no port from 1 to 65535 behind its address"},
      {"hosts:\n  - {address: a:22, port: 23}\n",
       "cluster.yaml:2:5: 'hosts[0]': 'port' is given twice: in the address, and by itself"},
      {"hosts:\n  - address: n[1-3]\n    name: m[1-2]\n",
       "cluster.yaml:3:11: 'hosts[0].name': 'm[1-2]' names 2 hosts, but the address is that of 3 "
       "hosts"},
      {"hosts:\n  - n[1-3]\n  - n2\n",
       "cluster.yaml:3:5: 'hosts[1]': host n2 port 22 is there twice"},
      {"hosts:\n  - {address: a, jump: \"b:x\"}\n",
       "cluster.yaml:2:24: 'hosts[0].jump': 'b:x' has no port from 1 to 65535 behind its address"},
      {"hosts: [a, a]\n", "cluster.yaml:1:12: 'hosts[1]': host a port 22 is there twice"},
      {"hosts:\n  - {address: a, inner: i}\n  - {address: b, inner: \"i:22\"}\n",
       "cluster.yaml:3:5: 'hosts[1]': inner address i port 22 is there twice"},
      {"hosts:\n  - {address: a, host_key: AAAA}\n",
       "cluster.yaml:2:28: 'hosts[0].host_key': 'AAAA' is not a host key: write it like "
       "'ssh-ed25519 "
       "AAAA...'"},
      {"{1: 2}: x\n", "cluster.yaml:1:1: a field's name must be plain text"},
  };
  for (const Bad& bad : table) {
    CAPTURE(bad.text);
    const Error e = failure_of([&] { read(bad.text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) == bad.message);
  }
}

TEST_CASE("what is no YAML is refused with its place") {
  for (const char* text : {"a: [1, 2\n", "a: b: c\n", "\"abc\n", "a: *nothing\n", "\t- x\n"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { read(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with("cluster.yaml:"));
  }
}

TEST_SUITE_END();

TEST_CASE("machines of clouds are wished for by the names of the flags") {
  const CloudFields cloud = read(R"(cloud:
  clouds: [aws, tencent]
  gpus: A100:8
  max-price: 20USD/h
  ssh-from: 192.0.2.0/24
  disk: 200
  data-disk: 500:gp3
  mount: 10.0.0.4:/models=/models
  min-nodes: 3
  hold: 10m
  public-address: head
  spot: true
)")
                                .cloud;
  CHECK(cloud.clouds == std::vector<std::string>{"aws", "tencent"});
  CHECK(cloud.gpus == "A100:8");
  CHECK(cloud.max_price == "20USD/h");
  CHECK(cloud.ssh_from == std::vector<std::string>{"192.0.2.0/24"});
  CHECK(cloud.disk == 200);
  CHECK(cloud.data_disk == "500:gp3");
  CHECK(cloud.mounts == std::vector<std::string>{"10.0.0.4:/models=/models"});
  CHECK(cloud.min_nodes == 3);
  CHECK(cloud.public_address == "head");
  CHECK(cloud.hold == std::chrono::minutes(10));
  CHECK(cloud.spot);
  CHECK(!cloud.rdma);
}

TEST_CASE("what a cloud's part of a file cannot be is refused at its place") {
  CHECK(failure_of([] { read("cloud: {gpu: A100}"); }).what() ==
        std::string("cluster.yaml:1:9: unknown field 'cloud.gpu', did you mean 'gpus'?"));
  CHECK(failure_of([] { read("cloud: {disk: 0}"); }).kind() == ErrorKind::usage);
  CHECK(failure_of([] { read("cloud: aws"); }).kind() == ErrorKind::usage);
}

}  // namespace
}  // namespace fastgpu::provision
