#include "launcher/checks/node_findings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "base/rdma_devices.hpp"
#include "ssh/host_key_failure.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;
using Findings = std::vector<Finding>;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

/// Three nodes without a fault.
struct SoundNodes {
  SoundNodes() {
    for (int i = 0; i < 3; ++i) {
      const std::string name = "n" + std::to_string(i);
      NodeHealth state;
      state.host = name;
      state.own_address = "10.0.0." + std::to_string(i + 1);
      state.kernel = "6.1.0";
      state.memory = {100 * kGigabyte};
      state.available = {90 * kGigabyte};
      state.disks = {{.place = "/root", .size = {500 * kGigabyte}, .free = {400 * kGigabyte}},
                     {.place = "/dev/shm", .size = {50 * kGigabyte}, .free = {50 * kGigabyte}}};
      agent::JobNodeFacts facts;
      facts.mpirun = "/usr/bin/mpirun";
      facts.mpirun_version = "mpirun (Open MPI) 4.1.4";
      nodes.push_back({.name = {name}, .state = state, .facts = facts});
    }
  }

  /// Changes the state of the second node.
  SoundNodes& with(const std::function<void(NodeHealth&)>& change) {
    NodeHealth state = nodes[1].state.value();
    change(state);
    nodes[1].state = state;
    return *this;
  }
  SoundNodes& with_facts(const std::function<void(agent::JobNodeFacts&)>& change) {
    agent::JobNodeFacts facts = nodes[1].facts.value();
    change(facts);
    nodes[1].facts = facts;
    return *this;
  }
  SoundNodes& on_all(const std::function<void(NodeHealth&)>& change) {
    for (CheckedNode& node : nodes) {
      NodeHealth state = node.state.value();
      change(state);
      node.state = state;
    }
    return *this;
  }

  Findings findings() const { return node_findings(nodes, running, "lab"); }
  /// Returns the only finding; fails the test if there is another number of them.
  Finding only() const {
    const Findings all = findings();
    for (const Finding& finding : all)
      INFO(finding.check, ": ", finding.found);
    REQUIRE(all.size() == 1);
    return all.front();
  }

  std::vector<CheckedNode> nodes;
  std::set<std::string> running;
};

void add_gpus(NodeHealth& state) {
  state.gpus_on_bus = 2;
  for (int i = 0; i < 2; ++i)
    state.gpus.push_back({.index = i, .driver = "550.54.15", .name = "NVIDIA H100"});
}

void add_rdma(NodeHealth& state) {
  state.rdma = {{.device = "mlx5_0",
                 .port = "1",
                 .state = "ACTIVE",
                 .rate = "100 Gb/sec",
                 .link_layer = "InfiniBand"}};
}

using Names = std::vector<std::string>;

TEST_SUITE_BEGIN("launcher/checks/node_findings");

TEST_CASE("nodes without a fault have no findings, also with GPUs and RDMA") {
  CHECK(SoundNodes().findings().empty());
  CHECK(SoundNodes().on_all(add_gpus).on_all(add_rdma).findings().empty());
  CHECK(node_findings({}, {}, "lab").empty());
}

TEST_CASE("a node that does not answer, or whose agent does not run, is an error of its own") {
  SoundNodes lab;
  lab.nodes[2].state = Error(ErrorKind::transient, "connection refused");
  lab.nodes[2].facts = Outcome<agent::JobNodeFacts>();
  CHECK(lab.only().check == "ssh");
  CHECK(lab.only().nodes == Names{"n2"});
  CHECK(lab.only().severity == Severity::error);
  SoundNodes other;
  other.nodes[0].facts = Error(ErrorKind::denied, "the home directory is not writable");
  CHECK(other.only().check == "agent");
}

TEST_CASE("a node that cannot be used has the remedy of its own cause") {
  const auto remedy_of = [](ErrorKind kind, const std::string& message) {
    SoundNodes lab;
    lab.nodes[2].state = Error(kind, message);
    return lab.only().remedy;
  };
  const std::string key =
      remedy_of(ErrorKind::denied, "n2: its host key is SHA256:a and not SHA256:b; " +
                                       std::string(ssh::kForeignHostKey));
  CHECK(key.find("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub") != key.npos);
  CHECK(key.find("fastgpu start cluster lab --accept-host-keys") != key.npos);
  CHECK(key.find("fastgpu ssh") == key.npos);
  const std::string login = remedy_of(ErrorKind::denied, "n2: login as root is refused");
  CHECK(login.find("~/.ssh/authorized_keys") != login.npos);
  CHECK(remedy_of(ErrorKind::transient, "connection refused").find("sshd") != std::string::npos);
  CHECK(remedy_of(ErrorKind::remote, "exit status 2") == "log in by hand: fastgpu ssh n2");
  SoundNodes full;
  full.nodes[0].facts = Error(ErrorKind::capacity, "no space left on n0");
  CHECK(full.only().remedy.find("delete job --older-than") != std::string::npos);
}

TEST_CASE("a full /tmp of its own is not emptied by deleting jobs") {
  const auto remedy_of = [](const std::string& device) {
    SoundNodes lab;
    lab.with([&](NodeHealth& s) {
      s.disks[0].device = "1";
      s.disks.push_back({.place = "/tmp", .size = {kGigabyte}, .free = {}, .device = device});
    });
    return lab.only().remedy;
  };
  CHECK(
      remedy_of("2") ==
      "it is a file system of its own, without files of jobs: remove what this shows: fastgpu exec "
      "n1 -- sh -c 'du -xah /tmp | sort -h | tail'");
  CHECK(remedy_of("1").find("fastgpu delete job --older-than 7d") != std::string::npos);
}

TEST_CASE("a file system that is empty and small is to be made larger, and is not full") {
  const auto finding_on = [](std::uint64_t size, std::uint64_t free) {
    SoundNodes lab;
    lab.with([&](NodeHealth& s) {
      s.disks.push_back({.place = "/tmp", .size = {size}, .free = {free}, .device = "2"});
    });
    return lab.only();
  };
  const Finding tiny = finding_on(1'000'000, 990'000);
  CHECK(tiny.severity == Severity::error);
  CHECK(tiny.found ==
        "the file system at /tmp is small (990 kB free of 1 MB), and jobs may need 1 GB");
  CHECK(tiny.remedy == "make it larger (a tmpfs: mount -o remount,size=954M /tmp)");
  CHECK(finding_on(500'000'000, 499'000'000).severity == Severity::warning);
  CHECK(finding_on(2 * kGigabyte, 500'000'000).found == "500 MB free of 2 GB at /tmp");
}

TEST_CASE("the value that most nodes have is the usual one, and the first node's of two") {
  const Finding kernel = SoundNodes().with([](NodeHealth& s) { s.kernel = "6.2.0"; }).only();
  CHECK(kernel.check == "kernel");
  CHECK(kernel.nodes == Names{"n1"});
  CHECK(kernel.found == "6.2.0, but 6.1.0 on n0, n2");
  SoundNodes two;
  two.nodes.pop_back();
  CHECK(two.with([](NodeHealth& s) { s.kernel = "5.0"; }).only().found == "5.0, but 6.1.0 on n0");
}

TEST_CASE("another Open MPI, or none, is an error, and a warning if no node has it") {
  auto version = [](agent::JobNodeFacts& f) { f.mpirun_version = "mpirun (Open MPI) 5.0.1"; };
  CHECK(SoundNodes().with_facts(version).only().severity == Severity::error);
  auto path = [](agent::JobNodeFacts& f) { f.mpirun = "/opt/bin/mpirun"; };
  CHECK(SoundNodes().with_facts(path).only().check == "open-mpi");
  auto missing = [](agent::JobNodeFacts& f) { f.mpirun.clear(); };
  CHECK(SoundNodes().with_facts(missing).only().found == "mpirun is missing");
  auto silent = [](agent::JobNodeFacts& f) { f.is_mpirun_silent = true; };
  CHECK(SoundNodes().with_facts(silent).only().found ==
        "`/usr/bin/mpirun --version` has not ended within 30s");
  auto daemon = [](agent::JobNodeFacts& f) { f.has_daemon = false; };
  CHECK(SoundNodes().with_facts(daemon).only().severity == Severity::error);
  SoundNodes none;
  for (CheckedNode& node : none.nodes)
    node.facts = agent::JobNodeFacts();
  CHECK(none.only().severity == Severity::warning);
  CHECK(none.only().nodes.size() == 3);
}

TEST_CASE("what keeps ranks from an active RDMA port is an error, with the agent's remedy") {
  const auto closed = [](agent::JobNodeFacts& facts) {
    facts.rdma_obstacle = "/dev/infiniband/uverbs0 may not be opened: give the user the permission";
  };
  const Finding finding = SoundNodes().on_all(add_rdma).with_facts(closed).only();
  CHECK(finding.check == "rdma");
  CHECK(finding.severity == Severity::error);
  CHECK(finding.nodes == Names{"n1"});
  CHECK(finding.found == "/dev/infiniband/uverbs0 may not be opened");
  CHECK(finding.remedy == "give the user the permission");
  // A port that is down is reported by its state, once.
  const auto down = [](NodeHealth& state) { state.rdma.front().state = "DOWN"; };
  CHECK(SoundNodes().on_all(add_rdma).with(down).with_facts(closed).only().found ==
        "mlx5_0:1 is DOWN");
  // A low limit of locked memory is reported once, too.
  const Bytes little{65'536};
  const auto limited = [&](NodeHealth& state) { state.memlock = little; };
  const auto locked = [&](agent::JobNodeFacts& facts) {
    facts.rdma_obstacle = remedy_for_lockable(little);
  };
  CHECK(SoundNodes().on_all(add_rdma).with(limited).with_facts(locked).only().check == "memlock");
}

TEST_CASE("clocks are compared with the first node's, whatever the difference from ours") {
  SoundNodes lab;
  for (CheckedNode& node : lab.nodes)
    node.clock_ahead = 1h;
  CHECK(lab.findings().empty());
  lab.nodes[1].clock_ahead += 5s;
  CHECK(lab.only().severity == Severity::warning);
  CHECK(lab.only().found == "5s ahead of n0");
  lab.nodes[1].clock_ahead -= 10min;
  CHECK(lab.only().severity == Severity::error);
  CHECK(lab.only().found == "9m55s behind n0");
}

TEST_CASE("nodes of one name are an error, and a name that does not resolve is a warning") {
  const Finding same = SoundNodes().with([](NodeHealth& s) { s.host = "n0"; }).only();
  CHECK(same.nodes == Names{"n0", "n1"});
  CHECK(same.severity == Severity::error);
  const Finding unknown = SoundNodes().with([](NodeHealth& s) { s.own_address.clear(); }).only();
  CHECK(unknown.severity == Severity::warning);
}

TEST_CASE("a full disk is an error, a nearly full one a warning, and so are few files") {
  const auto disk_with = [](auto change) {
    return SoundNodes().with([&](NodeHealth& s) { change(s.disks[0]); }).only();
  };
  CHECK(disk_with([](CheckedDisk& d) { d.free = {10'000'000}; }).severity == Severity::error);
  CHECK(disk_with([](CheckedDisk& d) { d.free = {500'000'000}; }).severity == Severity::warning);
  CHECK(disk_with([](CheckedDisk& d) { d.writable = false; }).found ==
        "/root cannot be written to");
  const Finding files = disk_with([](CheckedDisk& d) {
    d.files = 1'000'000;
    d.free_files = 12;
  });
  CHECK(files.found == "room for 12 more files at /root");
  const Finding none = disk_with([](CheckedDisk& d) {
    d.files = 40;
    d.free_files = 0;
    d.writable = false;
  });
  CHECK(none.severity == Severity::error);
  CHECK(none.found ==
        "no file can be made at /root: it has 40 files, and room for no more (df -i)");
  const Finding shared =
      SoundNodes().with([](NodeHealth& s) { s.disks[1].free = {1'000'000}; }).only();
  CHECK(shared.severity == Severity::warning);
}

TEST_CASE("little memory left, and less memory than other nodes, are warnings") {
  CHECK(SoundNodes().with([](NodeHealth& s) { s.available = {kGigabyte}; }).only().check ==
        "memory");
  const Finding less = SoundNodes().with([](NodeHealth& s) { s.memory = {93 * kGigabyte}; }).only();
  CHECK(less.found == "93 GB, but 100 GB on other nodes");
}

TEST_CASE("a GPU that the driver lost is an error, and so is a node with fewer of them") {
  SoundNodes lost;
  lost.on_all(add_gpus).with([](NodeHealth& s) { s.gpus.pop_back(); });
  CHECK(lost.only().found == "the driver lists 1 of 2 GPUs");
  SoundNodes fewer;
  fewer.on_all(add_gpus).with([](NodeHealth& s) {
    s.gpus.pop_back();
    s.gpus_on_bus = 1;
  });
  CHECK(fewer.only().found == "1 GPU, but 2 on other nodes");
  SoundNodes broken;
  broken.on_all(add_gpus).with([](NodeHealth& s) {
    s.gpus.clear();
    s.gpu_failure = "Driver/library version mismatch";
  });
  const Findings found = broken.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[0].found == "nvidia-smi: Driver/library version mismatch");
  CHECK(found[1].check == "driver");
}

TEST_CASE("errors of a GPU are told from those of programs on it") {
  const auto with_xid = [](int code) {
    SoundNodes lab;
    lab.on_all(add_gpus).with(
        [&](NodeHealth& s) { s.xids = {{.code = code, .device = "PCI:0000:3b:00"}}; });
    return lab;
  };
  CHECK(with_xid(79).only().found == "PCI:0000:3b:00: Xid 79, it has fallen off the bus");
  CHECK(with_xid(79).only().severity == Severity::error);
  CHECK(with_xid(63).only().severity == Severity::warning);
  for (const int of_program : {13, 31, 43, 45})
    CHECK(with_xid(of_program).findings().empty());
  SoundNodes ecc;
  ecc.on_all(add_gpus).with([](NodeHealth& s) { s.gpus[1].uncorrected = 2; });
  CHECK(ecc.only().found == "GPU 1: 2 uncorrected errors of its memory");
  SoundNodes remap;
  remap.on_all(add_gpus).with([](NodeHealth& s) { s.gpus[0].remap_pending = true; });
  CHECK(remap.only().severity == Severity::warning);
}

TEST_CASE("behind an NVSwitch the fabric manager must run, in the driver's version") {
  const auto with_manager = [](const std::string& state, const std::string& version) {
    SoundNodes lab;
    lab.on_all(add_gpus).on_all([&](NodeHealth& s) {
      s.nvswitches = 4;
      s.fabric_manager = "running";
      s.fabric_manager_version = "550.54.15";
    });
    lab.with([&](NodeHealth& s) {
      s.fabric_manager = state;
      s.fabric_manager_version = version;
    });
    return lab;
  };
  CHECK(with_manager("running", "550.54.15").findings().empty());
  CHECK(with_manager("stopped", "550.54.15").only().check == "fabric-manager");
  CHECK(with_manager("", "").only().found == "nvidia-fabricmanager is not installed");
  CHECK(with_manager("running", "535.1").only().found ==
        "nvidia-fabricmanager 535.1, but driver 550.54.15");
}

TEST_CASE("an RDMA port that is down, slower, or missing is found") {
  SoundNodes down;
  down.on_all(add_rdma).with([](NodeHealth& s) { s.rdma[0].state = "DOWN"; });
  CHECK(down.only().found == "mlx5_0:1 is DOWN");
  CHECK(down.only().severity == Severity::error);
  SoundNodes slow;
  slow.on_all(add_rdma).with([](NodeHealth& s) { s.rdma[0].rate = "10 Gb/sec"; });
  CHECK(slow.only().severity == Severity::warning);
  SoundNodes missing;
  missing.on_all(add_rdma).with([](NodeHealth& s) { s.rdma.clear(); });
  CHECK(missing.only().found == "no RDMA port, but 1 RDMA port on n0, n2");
}

TEST_CASE("a limit of locked memory matters with RDMA alone") {
  const auto limit = [](NodeHealth& s) { s.memlock = Bytes{65'536}; };
  CHECK(SoundNodes().with(limit).findings().empty());
  SoundNodes lab;
  CHECK(lab.on_all(add_rdma).with(limit).only().check == "memlock");
  CHECK(lab.only().severity == Severity::error);
}

TEST_CASE("processes of jobs that do not run are leftovers, and those of others are not") {
  SoundNodes lab;
  lab.with([](NodeHealth& s) {
    s.processes = {{.pid = 12, .job = "old-1", .name = "python"},
                   {.pid = 13, .job = "old-1", .name = "python"},
                   {.pid = 14, .job = "new-2", .name = "train"}};
    s.shared_files = 3;
  });
  lab.running = {"new-2"};
  CHECK(lab.only().found == "2 processes of job old-1, which does not run: python (process 12)");
  CHECK(lab.only().remedy == "end them: fastgpu exec n1 -- kill 12 13");
  CHECK(lab.only().nodes == Names{"n1"});
  lab.running.clear();
  CHECK(lab.findings().size() == 3);  // Two jobs, and the files that none of them has.
}

TEST_CASE(
    "a job of another state directory, whose supervisor is on another node, has no leftovers") {
  SoundNodes lab;
  const auto has_process = [](NodeHealth& s) {
    s.processes = {{.pid = 12, .job = "other-1", .name = "python"}};
    s.shared_files = 3;
  };
  lab.on_all(has_process);
  CHECK(lab.findings().size() > 1);
  lab.with([](NodeHealth& s) { s.running_jobs = {"other-1"}; });
  CHECK(lab.findings().empty());
}

TEST_CASE("programs on the GPUs are found if no job of the record is there") {
  SoundNodes lab;
  lab.on_all(add_gpus).with([](NodeHealth& s) {
    s.gpu_processes = {{.pid = 7, .memory = {kGigabyte}, .name = "python"}};
  });
  CHECK(lab.only().check == "gpu-users");
  lab.running = {"new-2"};
  lab.with([](NodeHealth& s) { s.processes = {{.pid = 7, .job = "new-2", .name = "python"}}; });
  CHECK(lab.findings().empty());
}

TEST_CASE("findings come in the order of the checks, each of which is in the list") {
  SoundNodes lab;
  lab.on_all(add_gpus).with([](NodeHealth& s) {
    s.processes = {{.pid = 12, .job = "old-1", .name = "python"}};
    s.kernel = "5";
    s.gpus[0].remap_failed = true;
    s.disks[0].free = {};
  });
  Names checks;
  for (const Finding& finding : lab.findings()) {
    checks.push_back(finding.check);
    CHECK(std::ranges::count(node_checks(), std::string_view(finding.check)) == 1);
    CHECK_FALSE(finding.why.empty());
    CHECK_FALSE(finding.remedy.empty());
  }
  CHECK(checks == Names{"kernel", "disk", "gpu-errors", "leftovers"});
}

TEST_CASE("checks of devices that no node has do not apply") {
  const SoundNodes plain;
  CHECK(not_checked("gpus", plain.nodes) == "no GPU");
  CHECK(not_checked("memlock", plain.nodes) == "no RDMA adapter");
  CHECK(not_checked("disk", plain.nodes).empty());
  SoundNodes lab;
  lab.with(add_gpus);
  CHECK(not_checked("gpus", lab.nodes).empty());
  CHECK(not_checked("fabric-manager", lab.nodes) == "no NVSwitch");
  SoundNodes lost;
  for (CheckedNode& node : lost.nodes)
    node.state = Error(ErrorKind::transient, "lost");
  CHECK(not_checked("disk", lost.nodes) == "no node was reached");
  CHECK(not_checked("ssh", lost.nodes).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
