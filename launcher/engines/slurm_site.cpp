#include "launcher/engines/slurm_site.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/host_names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::launcher {
namespace {

/// The directory of set_up_slurm.sh on nodes.
constexpr std::string_view kPlace = "/var/lib/fastgpu-slurm";

/// The part of its memory that a node offers. With all of it, Slurm would refuse a node whose
/// kernel reports a little less after its next boot.
constexpr int kOfferedPercent = 95;

[[noreturn]] void refuse_facts(std::string_view text) {
  constexpr std::size_t kShown = 200;
  throw Error(ErrorKind::remote,
              "sends facts that are not understood: '" + printable(text, kShown) + "'");
}

bool is_conf_word(std::string_view text, std::string_view others) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != others.npos;
  });
}

int positive(std::string_view text) {
  const auto number = to_number<int>(text);
  if (!number || *number < 1) refuse_facts(text);
  return *number;
}

/// Parses "NodeName=n1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1
/// RealMemory=7951". Other words of Slurm are left out.
SlurmHardware parse_hardware(std::string_view line) {
  SlurmHardware hardware;
  const std::array<std::pair<std::string_view, int*>, 6> fields{
      {{"CPUs", &hardware.cpus},
       {"Boards", &hardware.boards},
       {"SocketsPerBoard", &hardware.sockets_per_board},
       {"CoresPerSocket", &hardware.cores_per_socket},
       {"ThreadsPerCore", &hardware.threads_per_core},
       {"RealMemory", &hardware.memory_mib}}};
  std::set<std::string_view> seen;
  for (const std::string_view word : split(line, ' ')) {
    const auto equals = word.find('=');
    const auto field = std::ranges::find(fields, word.substr(0, equals),
                                         &std::pair<std::string_view, int*>::first);
    if (equals == word.npos || field == fields.end()) continue;
    *field->second = positive(word.substr(equals + 1));
    seen.insert(field->first);
  }
  if (seen.size() != fields.size()) refuse_facts(line);
  return hardware;
}

/// Returns the release of "slurm-wlm 22.05.8": "22.05.8".
std::string parse_version(std::string_view text) {
  const std::string_view version = text.substr(text.rfind(' ') + 1);
  if (!is_conf_word(version, ".-") || version.find('.') == version.npos) refuse_facts(text);
  return std::string(version);
}

std::string parse_gpu(std::string_view path) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  if (!path.starts_with(kPrefix) || !to_number<unsigned>(path.substr(kPrefix.size())))
    refuse_facts(path);
  return std::string(path);
}

std::string parse_host_fact(std::string_view name) {
  if (!is_conf_word(name, ".-_")) refuse_facts(name);
  return std::string(name.substr(0, name.find('.')));
}

/// Takes one fact. Returns false for an unknown one.
bool take_fact(std::string_view word, std::string_view value, SlurmNode& node) {
  if (word == "host") {
    node.host = parse_host_fact(value);
  } else if (word == "user") {
    const auto id = to_number<int>(value);
    if (!id || *id < 0) refuse_facts(value);
    node.user_id = *id;
  } else if (word == "version") {
    node.version = parse_version(value);
  } else if (word == "hardware") {
    node.hardware = parse_hardware(value);
  } else if (word == "gpu") {
    node.gpus.push_back(parse_gpu(value));
  } else {
    return false;
  }
  return true;
}

/// Returns the part of a version that all nodes must have in common: "22.05".
std::string_view release_of(const std::string& version) {
  const auto second = version.find('.', version.find('.') + 1);
  return std::string_view(version).substr(0, second);
}

bool is_overcommitted(const SlurmNode& node) {
  return node.slots > node.hardware.cpus;
}

[[noreturn]] void refuse_together(const SlurmNode& one, const SlurmNode& other,
                                  const std::string& why) {
  throw Error(ErrorKind::conflict, "Slurm cannot run on " + one.name.value + " and " +
                                       other.name.value + " together: " + why);
}

std::string node_line(const SlurmNode& node) {
  const SlurmHardware& hardware = node.hardware;
  std::string line = "NodeName=" + slurm_node_name(node.name) + " NodeHostname=" + node.host +
                     " NodeAddr=" + node.address;
  const auto add = [&](const char* key, int value) {
    line += " " + std::string(key) + "=" + std::to_string(value);
  };
  if (is_overcommitted(node)) {
    add("CPUs", node.slots);
  } else {
    add("CPUs", hardware.cpus);
    add("Boards", hardware.boards);
    add("SocketsPerBoard", hardware.sockets_per_board);
    add("CoresPerSocket", hardware.cores_per_socket);
    add("ThreadsPerCore", hardware.threads_per_core);
  }
  const auto offered = std::int64_t{hardware.memory_mib} * kOfferedPercent / 100;
  add("RealMemory", std::max(1, static_cast<int>(offered)));
  if (!node.gpus.empty()) line += " Gres=gpu:" + std::to_string(node.gpus.size());
  return line + " State=UNKNOWN\n";
}

/// Slurm before 23.02 looks for control groups even if it uses none: it gets an empty directory.
std::string cgroup_file(const std::string& version) {
  const int year = leading_number<int>(version).value_or(0);
  if (year >= 23) return "CgroupPlugin=disabled\n";
  return "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nCgroupMountpoint=" + std::string(kPlace) +
         "/cgroup\n";
}

}  // namespace

void read_slurm_facts(std::string_view text, SlurmNode& node) {
  node.gpus.clear();
  bool is_complete = false;
  std::set<std::string_view> seen;
  for (const std::string_view line : split(text, '\n')) {
    if (line == "end") is_complete = true;
    const auto tab = line.find('\t');
    if (tab == line.npos) continue;
    if (take_fact(line.substr(0, tab), line.substr(tab + 1), node))
      seen.insert(line.substr(0, tab));
  }
  for (const char* needed : {"host", "user", "version", "hardware"})
    if (!seen.contains(needed)) is_complete = false;
  if (!is_complete) refuse_facts(text);
}

void check_slurm_nodes(std::span<const SlurmNode> nodes) {
  for (const SlurmNode& node : nodes) {
    if (!is_conf_word(node.address, ".-_"))
      throw Error(ErrorKind::conflict, "Slurm cannot run on " + node.name.value +
                                           ": fastgpu sets Slurm up on IPv4 addresses, not on '" +
                                           printable(node.address) + "'");
    const SlurmNode& first = nodes.front();
    if (release_of(node.version) != release_of(first.version))
      refuse_together(first, node, "their releases are " + first.version + " and " + node.version);
    if (node.user_id != first.user_id)
      refuse_together(first, node,
                      "their users of one name have the numbers " + std::to_string(first.user_id) +
                          " and " + std::to_string(node.user_id));
    for (const SlurmNode& other : nodes.first(static_cast<std::size_t>(&node - nodes.data()))) {
      if (other.address == node.address)
        refuse_together(other, node, "both have the address " + node.address);
      if (other.host == node.host)
        refuse_together(other, node, "both have the host name " + node.host);
    }
  }
}

std::string slurm_node_name(const NodeName& name) {
  return host_form(name.value);
}

std::string slurm_files(std::span<const SlurmNode> nodes) {
  const SlurmNode& head = nodes.front();
  const bool has_gpus =
      std::ranges::any_of(nodes, [](const SlurmNode& node) { return !node.gpus.empty(); });
  const std::string place(kPlace);
  std::string text = "# slurm.conf\n# Written by fastgpu, which writes it anew.\n";
  text += "ClusterName=fastgpu\n";
  text += "SlurmctldHost=" + head.host + "(" + head.address + ")\n";
  text += "SlurmUser=root\nSlurmdUser=root\n";
  text += "AuthType=auth/munge\nAuthInfo=socket=" + place + "/munge.socket\n";
  text += "SlurmctldPort=6817\nSlurmdPort=6818\nSrunPortRange=60001-63000\n";
  text += "StateSaveLocation=" + place + "/state\nSlurmdSpoolDir=" + place + "/spool\n";
  text += "SlurmctldPidFile=" + place + "/slurmctld.pid\nSlurmdPidFile=" + place + "/slurmd.pid\n";
  text += "SlurmctldLogFile=" + place + "/slurmctld.log\nSlurmdLogFile=" + place + "/slurmd.log\n";
  text += "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n";
  text += "SchedulerType=sched/backfill\nSelectType=select/cons_tres\n";
  text += "SchedulerParameters=batch_sched_delay=0\n";  // Else sbatch's jobs wait up to 3 s.
  text += "SelectTypeParameters=CR_Core\n";
  text += "EnforcePartLimits=ALL\n";  // Else a job that can never run waits for ever.
  // The controller looks at its queue once a second, and at the end of each job where nodes have an
  // epilog: submit_job in slurm.sh makes use of that.
  text += "Epilog=/bin/true\n";
  text += "ReturnToService=2\nSlurmdTimeout=60\nKillWait=30\n";
  if (has_gpus) text += "GresTypes=gpu\n";
  if (std::ranges::any_of(nodes, is_overcommitted)) text += "SlurmdParameters=config_overrides\n";
  for (const SlurmNode& node : nodes)
    text += node_line(node);
  text += "PartitionName=fastgpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
  text += "# gres.conf\n";
  for (const SlurmNode& node : nodes)
    for (const std::string& gpu : node.gpus)
      text += "NodeName=" + slurm_node_name(node.name) + " Name=gpu File=" + gpu + "\n";
  return text + "# cgroup.conf\n" + cgroup_file(head.version);
}

std::string slurm_removal_command() {
  return "sudo sh " + std::string(kPlace) + "/set_up remove";
}

}  // namespace fastgpu::launcher
