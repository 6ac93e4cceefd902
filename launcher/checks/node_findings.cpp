#include "launcher/checks/node_findings.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/rdma_devices.hpp"
#include "base/units.hpp"
#include "launcher/checks/remedies.hpp"
#include "launcher/checks/xid.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::array<std::string_view, 18> kNodeChecks = {
    "ssh",       "agent",          "open-mpi", "kernel",  "clock",    "host-name",
    "disk",      "memory",         "gpus",     "driver",  "cuda",     "gpu-errors",
    "gpu-users", "fabric-manager", "rdma",     "memlock", "leftovers"};

constexpr Bytes kFullDisk{100'000'000};
constexpr Bytes kLittleDisk{1'000'000'000};
constexpr Bytes kLittleSharedMemory{64UL << 20U};
constexpr Bytes kLeastMemlock{64UL << 20U};
constexpr std::uint64_t kFewFiles = 10'000;
constexpr milliseconds kClockWarning = 2s, kClockError = 60s;

bool has_gpu(const NodeHealth& state) {
  return state.gpus_on_bus > 0 || !state.gpus.empty() || !state.gpu_failure.empty() ||
         state.npus > 0;
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  if (names.size() <= kMost) return joined(names);
  return joined(std::span(names).first(kMost - 1)) + " and " +
         std::to_string(names.size() - kMost + 1) + " more";
}

class NodeFindings {
 public:
  NodeFindings(std::span<const CheckedNode> nodes, const std::set<std::string>& running,
               const std::string& cluster)
      : nodes_(nodes), running_(running), cluster_(cluster) {
    // Other machines may run jobs on these nodes too. Only a job's first node has its supervisor.
    for_each_state([&](const CheckedNode&, const NodeHealth& state) {
      running_.insert(state.running_jobs.begin(), state.running_jobs.end());
    });
  }

  std::vector<Finding> all() {
    check_reached();
    check_mpi();
    check_kernel();
    check_clocks();
    check_host_names();
    for_each_state([&](const CheckedNode& node, const NodeHealth& state) {
      check_disks(node, state);
      check_memory(node, state);
    });
    check_gpus();
    check_rdma();
    check_leftovers();
    std::ranges::stable_sort(found_, {}, [](const Finding& finding) {
      return std::ranges::find(kNodeChecks, finding.check) - kNodeChecks.begin();
    });
    return std::move(found_);
  }

 private:
  using Values = std::vector<std::pair<std::string, std::string>>;  ///< A node and its value.

  void add(std::string_view check, Severity severity, std::vector<std::string> nodes,
           const std::string& found, const std::string& why, const std::string& remedy) {
    found_.push_back({.check = std::string(check),
                      .severity = severity,
                      .nodes = std::move(nodes),
                      .found = found,
                      .why = why,
                      .remedy = remedy});
  }

  void add(std::string_view check, const CheckedNode& node, const Error& reason,
           const Advice& advice) {
    add(check, Severity::error, {node.name.value}, reason.what(), advice.why, advice.remedy);
  }

  template <class Work>
  void for_each_state(Work work) {
    for (const CheckedNode& node : nodes_)
      if (node.state.ok()) work(node, node.state.value());
  }

  template <class Value>
  Values values(Value value_of) {
    Values all;
    for_each_state([&](const CheckedNode& node, const NodeHealth& state) {
      all.emplace_back(node.name.value, value_of(state));
    });
    return all;
  }

  /// Adds a finding for each value that is not the most frequent one; of equally frequent ones the
  /// first node's counts. An empty value is shown as `missing`.
  void compare(std::string_view check, Severity severity, const Values& all,
               const std::string& missing, const std::string& why, const std::string& remedy) {
    std::map<std::string, std::vector<std::string>> nodes_by_value;
    for (const auto& [node, value] : all)
      nodes_by_value[value].push_back(node);
    if (nodes_by_value.size() < 2) return;
    std::string usual = all.front().second;
    for (const auto& [value, nodes] : nodes_by_value)
      if (nodes.size() > nodes_by_value[usual].size()) usual = value;
    const auto shown = [&](const std::string& value) { return value.empty() ? missing : value; };
    for (const auto& [value, nodes] : nodes_by_value)
      if (value != usual)
        add(check, severity, nodes,
            shown(value) + ", but " + shown(usual) + " on " + names_text(nodes_by_value[usual]),
            why, remedy);
  }

  void check_reached() {
    for (const CheckedNode& node : nodes_) {
      if (!node.state.ok())
        add("ssh", node, node.state.error(),
            advice_on_login(node.state.error(), node.name.value, cluster_));
      else if (!node.facts.ok())
        add("agent", node, node.facts.error(), advice_on_agent(node.facts.error()));
    }
  }

  void check_mpi() {
    constexpr const char* kInstall =
        "install the same Open MPI on all nodes (Debian, Ubuntu: apt-get install openmpi-bin)";
    std::vector<std::string> without;
    Values versions, paths;
    for (const CheckedNode& node : nodes_) {
      if (!node.state.ok() || !node.facts.ok()) continue;
      const agent::JobNodeFacts& facts = node.facts.value();
      if (facts.mpirun.empty()) {
        without.push_back(node.name.value);
        continue;
      }
      if (facts.is_mpirun_silent) {
        add("open-mpi", Severity::error, {node.name.value},
            "`" + facts.mpirun + " --version` has not ended within " +
                to_string(agent::kMpirunAnswer),
            "no job can start there", "run it there; a file system that hangs may hold it up");
        continue;
      }
      versions.emplace_back(node.name.value, facts.mpirun_version);
      paths.emplace_back(node.name.value, facts.mpirun);
      if (!facts.has_daemon)
        add("open-mpi", Severity::error, {node.name.value},
            "mpirun's daemon (orted, prted) is missing beside " + facts.mpirun,
            "mpirun starts it on every node", "install Open MPI there again");
    }
    if (!without.empty())
      add("open-mpi", versions.empty() ? Severity::warning : Severity::error, without,
          "mpirun is missing", "jobs start by it",
          std::string(kInstall) + ", or use --launcher plain");
    if (versions.empty()) return;
    const std::size_t before = found_.size();
    compare("open-mpi", Severity::error, versions, "unknown",
            "versions of Open MPI do not understand each other", kInstall);
    if (found_.size() == before)
      compare("open-mpi", Severity::error, paths, "unknown",
              "mpirun starts its daemons at the same path everywhere", kInstall);
  }

  void check_kernel() {
    compare("kernel", Severity::warning, values([](const NodeHealth& s) { return s.kernel; }),
            "unknown", "drivers are built for one kernel",
            "install the same kernel on all nodes, and restart them");
  }

  void check_clocks() {
    const CheckedNode* first = nullptr;
    for (const CheckedNode& node : nodes_) {
      if (!node.state.ok()) continue;
      if (first == nullptr) first = &node;
      const milliseconds ahead = node.clock_ahead - first->clock_ahead;
      const milliseconds apart = std::chrono::abs(ahead);
      if (apart < kClockWarning) continue;
      add("clock", apart < kClockError ? Severity::warning : Severity::error, {node.name.value},
          to_string(apart) + (ahead.count() > 0 ? " ahead of " : " behind ") + first->name.value,
          "logs are merged by time, and certificates and tickets are valid for a time",
          "start a time service on the nodes: chronyd, systemd-timesyncd");
    }
  }

  void check_host_names() {
    std::map<std::string, std::vector<std::string>> nodes_by_name;
    for_each_state([&](const CheckedNode& node, const NodeHealth& state) {
      nodes_by_name[state.host].push_back(node.name.value);
      if (state.own_address.empty())
        add("host-name", Severity::warning, {node.name.value},
            "its own name " + state.host + " cannot be resolved there",
            "frameworks look up the address of the node they run on",
            "add a line for " + state.host + " to /etc/hosts on the node");
    });
    for (const auto& [name, nodes] : nodes_by_name)
      if (nodes.size() > 1)
        add("host-name", Severity::error, nodes, "all are called " + name,
            "MPI and NCCL take nodes of one name for one node",
            "give each a name of its own: hostnamectl set-hostname NAME");
  }

  void check_disks(const CheckedNode& node, const NodeHealth& state) {
    for (const CheckedDisk& disk : state.disks) {
      const Advice full = advice_on_full_disk(disk, state.disks.front(), node.name.value);
      const bool is_memory = disk.place == kSharedMemory;
      const auto add_room = [&](Severity severity) {
        const Bytes need = is_memory ? kLittleSharedMemory : kLittleDisk;
        const LittleRoom room = little_room(disk, need, full);
        add("disk", severity, {node.name.value}, room.found, full.why, room.remedy);
      };
      if (disk.files > 0 && disk.free_files == 0)
        add("disk", Severity::error, {node.name.value},
            "no file can be made at " + disk.place + ": it has " + counted(disk.files, "file") +
                ", and room for no more (df -i)",
            full.why, "remove files there");
      else if (!disk.writable && disk.free >= kFullDisk)
        add("disk", Severity::error, {node.name.value}, disk.place + " cannot be written to",
            full.why, "mount it read-write, or change its rights");
      else if (disk.free < (is_memory ? kLittleSharedMemory : kFullDisk))
        add_room(is_memory ? Severity::warning : Severity::error);
      else if (!is_memory && disk.free < kLittleDisk)
        add_room(Severity::warning);
      else if (disk.files > 0 && disk.free_files < kFewFiles && disk.files > kFewFiles)
        add("disk", Severity::warning, {node.name.value},
            "room for " + counted(disk.free_files, "more file") + " at " + disk.place, full.why,
            "remove files there");
    }
  }

  void check_memory(const CheckedNode& node, const NodeHealth& state) {
    if (state.memory.count > 0 && state.available.count < state.memory.count / 10)
      add("memory", Severity::warning, {node.name.value},
          to_string(state.available) + " available of " + to_string(state.memory),
          "ranks may be killed for lack of memory",
          "end what uses it: fastgpu exec " + node.name.value + " -- ps aux --sort=-rss");
  }

  /// Returns the most frequent count; of equally frequent ones the largest.
  template <class Value>
  std::uint64_t usual(Value value_of) {
    std::map<std::uint64_t, int> times;
    for_each_state([&](const CheckedNode&, const NodeHealth& state) { ++times[value_of(state)]; });
    std::uint64_t best = 0;
    int most = 0;
    for (const auto& [value, count] : times)
      if (count >= most) {
        best = value;
        most = count;
      }
    return best;
  }

  void check_memory_sizes() {
    const std::uint64_t most = usual([](const NodeHealth& s) { return s.memory.count; });
    for_each_state([&](const CheckedNode& node, const NodeHealth& state) {
      if (state.memory.count < most / 20 * 19)
        add("memory", Severity::warning, {node.name.value},
            to_string(state.memory) + ", but " + to_string(Bytes{most}) + " on other nodes",
            "a memory module may have failed, and the smallest node limits a job",
            "look at the hardware of the node");
    });
  }

  void check_gpus() {
    check_memory_sizes();
    const auto count_of = [](const NodeHealth& s) {
      return static_cast<std::uint64_t>(std::max<std::size_t>(
          s.gpus.size(), static_cast<std::size_t>(std::max(s.gpus_on_bus, s.npus))));
    };
    const std::uint64_t count = usual(count_of);
    for_each_state([&](const CheckedNode& node, const NodeHealth& state) {
      check_gpus_of(node, state);
      if (count_of(state) != count)
        add("gpus", Severity::error, {node.name.value},
            counted(count_of(state), "GPU") + ", but " + std::to_string(count) + " on other nodes",
            "each rank needs a GPU of its own", "replace the node, or leave it out of jobs");
    });
    compare("driver", Severity::warning, values([](const NodeHealth& s) {
              return s.gpus.empty() ? std::string() : s.gpus.front().driver;
            }),
            "none", "CUDA programs need the same features everywhere",
            "install one driver on all nodes: fastgpu env install-driver");
    compare("cuda", Severity::warning, values([](const NodeHealth& s) { return joined(s.cuda); }),
            "none", "a program may find another CUDA on some nodes",
            "install the same toolkits on all nodes: fastgpu env install-driver");
  }

  void check_gpu_memory_of(const CheckedNode& node, const NodeHealth& state,
                           const std::string& reset) {
    for (const CheckedGpu& gpu : state.gpus) {
      const std::string name = "GPU " + std::to_string(gpu.index);
      if (gpu.uncorrected.value_or(0) > 0)
        add("gpu-errors", Severity::error, {node.name.value},
            name + ": " + counted(*gpu.uncorrected, "uncorrected error") + " of its memory",
            "results may be wrong, and programs end", reset);
      if (gpu.remap_failed)
        add("gpu-errors", Severity::error, {node.name.value},
            name + ": broken rows of its memory could not be replaced",
            "programs will end with errors of its memory", "replace the node");
      else if (gpu.remap_pending)
        add("gpu-errors", Severity::warning, {node.name.value},
            name + ": broken rows of its memory wait for a reset to be replaced",
            "programs may end with errors of its memory", "restart the node");
    }
  }

  void check_gpus_of(const CheckedNode& node, const NodeHealth& state) {
    const std::string reset = "restart the node; if it happens again, replace it";
    if (!state.gpu_failure.empty())
      add("gpus", Severity::error, {node.name.value}, "nvidia-smi: " + state.gpu_failure,
          "the driver does not work", "fastgpu env install-driver, or restart the node");
    else if (state.gpus_on_bus > static_cast<int>(state.gpus.size()))
      add("gpus", Severity::error, {node.name.value},
          "the driver lists " + std::to_string(state.gpus.size()) + " of " +
              counted(state.gpus_on_bus, "GPU"),
          "a rank will find no GPU",
          state.gpus.empty() ? "install the driver: fastgpu env install-driver" : reset);
    check_gpu_memory_of(node, state, reset);
    std::map<std::pair<int, std::string>, int> xids;
    for (const Xid& xid : state.xids)
      ++xids[{xid.code, xid.device}];
    for (const auto& [xid, times] : xids) {
      const std::string text = xid_text(xid.first);
      if (text.empty()) continue;
      add("gpu-errors", is_harmless_xid(xid.first) ? Severity::warning : Severity::error,
          {node.name.value},
          xid.second + ": Xid " + std::to_string(xid.first) + ", " + text +
              (times > 1 ? ", " + std::to_string(times) + " times" : ""),
          "the driver has reported an error of the GPU since the node started", reset);
    }
    const bool at_work = std::ranges::any_of(
        state.processes, [&](const JobProcess& one) { return running_.contains(one.job); });
    if (!at_work && !state.gpu_processes.empty()) {
      const GpuProcess& one = state.gpu_processes.front();
      add("gpu-users", Severity::warning, {node.name.value},
          counted(state.gpu_processes.size(), "process") + " on the GPUs: " + one.name +
              " (process " + std::to_string(one.pid) + ") has " + to_string(one.memory),
          "a job may find too little memory on a GPU", "end it, or wait for its end");
    }
    if (state.nvswitches == 0 || state.gpus.empty()) return;
    const std::string& driver = state.gpus.front().driver;
    if (state.fabric_manager != "running")
      add("fabric-manager", Severity::error, {node.name.value},
          state.fabric_manager.empty() ? "nvidia-fabricmanager is not installed"
                                       : "nvidia-fabricmanager is not running",
          "GPUs behind an NVSwitch do not start without it",
          "systemctl enable --now nvidia-fabricmanager");
    else if (!state.fabric_manager_version.empty() && state.fabric_manager_version != driver)
      add("fabric-manager", Severity::error, {node.name.value},
          "nvidia-fabricmanager " + state.fabric_manager_version + ", but driver " + driver,
          "they must have the same version", "install nvidia-fabricmanager " + driver);
  }

  void check_rdma() {
    compare("rdma", Severity::error, values([](const NodeHealth& s) {
              return s.rdma.empty() ? std::string() : counted(s.rdma.size(), "RDMA port");
            }),
            "no RDMA port", "a job uses RDMA only if all of its nodes have it",
            "install the adapter's driver: fastgpu env install-driver");
    std::map<std::string, int> rates;
    for_each_state([&](const CheckedNode&, const NodeHealth& state) {
      for (const NodeRdmaPort& port : state.rdma)
        ++rates[port.rate];
    });
    const auto usual_rate =
        std::ranges::max_element(rates, {}, [](auto& rate) { return rate.second; });
    for_each_state([&](const CheckedNode& node, const NodeHealth& state) {
      if (state.rdma.empty()) return;
      for (const NodeRdmaPort& port : state.rdma) {
        if (port.state != "ACTIVE")
          add("rdma", Severity::error, {node.name.value},
              port.name() + " is " + (port.state.empty() ? "in an unknown state" : port.state),
              "messages take another port, or TCP",
              "look at its cable and switch; InfiniBand needs a subnet manager");
        else if (port.rate != usual_rate->first)
          add("rdma", Severity::warning, {node.name.value},
              port.name() + " has " + port.rate + ", but most have " + usual_rate->first,
              "the slowest port limits a job", "look at its cable and switch");
      }
      add_rdma_obstacle(node);
      if (state.memlock)
        add("memlock", *state.memlock < kLeastMemlock ? Severity::error : Severity::warning,
            {node.name.value}, to_string(*state.memlock) + " may be locked",
            "RDMA locks the memory of messages",
            "set 'memlock unlimited' in /etc/security/limits.d, and LimitMEMLOCK=infinity for "
            "sshd");
    });
  }

  /// Adds what prevents the use of a node's devices according to its agent, unless a finding on the
  /// state of a port or on locked memory has it.
  void add_rdma_obstacle(const CheckedNode& node) {
    if (!node.facts.ok()) return;
    const NodeHealth& state = node.state.value();
    const bool has_active = std::ranges::any_of(
        state.rdma, [](const NodeRdmaPort& port) { return port.state == "ACTIVE"; });
    const std::string& text = node.facts.value().rdma_obstacle;
    const bool is_memlock = state.memlock && text == remedy_for_lockable(*state.memlock);
    if (text.empty() || !has_active || is_memlock) return;
    const std::size_t colon = std::min(text.find(": "), text.size());
    add("rdma", Severity::error, {node.name.value}, text.substr(0, colon), "messages take TCP",
        text.substr(std::min(colon + 2, text.size())));
  }

  void check_leftovers() {
    for_each_state([&](const CheckedNode& node, const NodeHealth& state) {
      std::map<std::string, std::vector<JobProcess>> by_job;
      for (const JobProcess& process : state.processes)
        by_job[process.job].push_back(process);
      bool at_work = false;
      for (const auto& [job, processes] : by_job) {
        if (running_.contains(job)) {
          at_work = true;
          continue;
        }
        std::string pids;
        for (const JobProcess& process : processes)
          append_item(pids, std::to_string(process.pid), " ");
        add("leftovers", Severity::warning, {node.name.value},
            counted(processes.size(), "process") + " of job " + job + ", which does not run: " +
                processes.front().name + " (process " + std::to_string(processes.front().pid) + ")",
            "they take cores, memory and ports from other jobs",
            "end them: fastgpu exec " + node.name.value + " -- kill " + pids);
      }
      if (!at_work && state.shared_files > 0)
        add("leftovers", Severity::warning, {node.name.value},
            counted(state.shared_files, "file") + " of " + to_string(state.shared_bytes) +
                " in /dev/shm, and no job runs",
            "they take memory",
            "remove them: fastgpu exec " + node.name.value +
                " -- sh -c 'rm -f /dev/shm/vader_segment.* /dev/shm/nccl-* /dev/shm/torch_*'");
    });
  }

  std::span<const CheckedNode> nodes_;
  std::set<std::string> running_;
  const std::string& cluster_;
  std::vector<Finding> found_;
};

}  // namespace

std::string_view word_of(Severity severity) noexcept {
  switch (severity) {
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

std::span<const std::string_view> node_checks() noexcept {
  return kNodeChecks;
}

std::string not_checked(std::string_view check, std::span<const CheckedNode> nodes) {
  const auto any = [&](auto condition) {
    return std::ranges::any_of(nodes, [&](const CheckedNode& node) {
      return node.state.ok() && condition(node.state.value());
    });
  };
  if (check != "ssh" && !any([](const NodeHealth&) { return true; })) return "no node was reached";
  const bool is_of_gpus =
      check == "gpus" || check == "driver" || check == "gpu-errors" || check == "gpu-users";
  if (is_of_gpus && !any(has_gpu)) return "no GPU";
  if (check == "cuda" && !any([](const NodeHealth& s) { return !s.cuda.empty(); }))
    return "no CUDA";
  if (check == "fabric-manager" && !any([](const NodeHealth& s) { return s.nvswitches > 0; }))
    return "no NVSwitch";
  const bool is_of_rdma = check == "rdma" || check == "memlock";
  if (is_of_rdma && !any([](const NodeHealth& s) { return !s.rdma.empty(); }))
    return "no RDMA adapter";
  return "";
}

std::vector<Finding> node_findings(std::span<const CheckedNode> nodes,
                                   const std::set<std::string>& running,
                                   const std::string& cluster) {
  return NodeFindings(nodes, running, cluster).all();
}

}  // namespace fastgpu::launcher
