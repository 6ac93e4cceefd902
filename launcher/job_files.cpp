#include "launcher/job_files.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "agent/protocol/job_folder.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/topology.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "launcher/engines/mpirun.hpp"
#include "launcher/engines/torchrun.hpp"
#include "launcher/hostfile.hpp"
#include "launcher/network.hpp"
#include "launcher/reach.hpp"

namespace fastgpu::launcher {
namespace {

/// Two ports on the first node: a script may use both libraries at once.
constexpr std::array kPortVariables = {"FASTGPU_COMM_MASTER_PORT", "MASTER_PORT"};

std::string below_fastgpu(const JobFilesRequest& request, const std::string& name) {
  return "jobs/" + request.id + "/" + name;
}

bool has_variable(const JobSpec& spec, const std::string& name) {
  for (const std::string& assignment : spec.environment)
    if (assignment.starts_with(name + "=")) return true;
  return false;
}

/// Returns the node's place in the job as variables that scripts for torchrun and others read.
std::vector<std::string> node_variables(const JobFilesRequest& request, const JobNode& node) {
  std::size_t index = 0;
  std::string addresses;
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    if (request.nodes[i].ranks.node == node.ranks.node) index = i;
    addresses += (i == 0 ? "" : "\n") + request.nodes[i].peer.address;
  }
  const std::string number = std::to_string(index);
  const std::vector<std::string> ours = {
      "FASTGPU_NODE_RANK=" + number, "FASTGPU_NUM_NODES=" + std::to_string(request.nodes.size()),
      "FASTGPU_NODE_IPS=" + addresses};
  std::vector<std::string> variables = {"LOCAL_WORLD_SIZE=" + std::to_string(node.ranks.count),
                                        "NODE_RANK=" + number, "GROUP_RANK=" + number};
  if (request.spec.launcher == Launcher::torchrun) variables = torchrun_variables(request, index);
  variables.insert(variables.end(), ours.begin(), ours.end());
  return variables;
}

/// Returns the number of processes on a node that compute.
int processes_on(const NodeRanks& node) {
  return node.count * std::max(1, node.workers);
}

/// Returns the number of processes that each kernel has; nodes on one machine share its cores.
std::map<std::string, int> processes_by_kernel(const JobFilesRequest& request,
                                               std::span<const agent::JobNodeFacts> facts) {
  std::map<std::string, int> processes;
  for (std::size_t i = 0; i < facts.size(); ++i)
    processes[facts[i].boot_id] += processes_on(request.nodes[i].ranks);
  return processes;
}

/// Returns the number of cores that each process can use without waiting for another, on the node
/// that has the fewest: MPI passes one value to all ranks.
int threads_per_process(const JobFilesRequest& request,
                        std::span<const agent::JobNodeFacts> facts) {
  auto processes = processes_by_kernel(request, facts);
  int threads = kMostRanks;
  for (const agent::JobNodeFacts& node : facts)
    threads = std::min(threads, std::max(1, node.cores / processes[node.boot_id]));
  for (const JobNode& node : request.nodes)
    for (const std::string& cpus : node.ranks.cpus)
      threads = std::min(threads, std::max(1, static_cast<int>(agent::parse_cpu_list(cpus).size()) /
                                                  std::max(1, node.ranks.workers)));
  return threads;
}

/// Returns the address at which the other nodes reach the first one.
std::string head_address(const JobFilesRequest& request,
                         std::span<const agent::JobNodeFacts> facts) {
  const auto joining = joining_addresses(request, facts);
  return joining.empty() ? request.nodes.front().peer.address : joining.front();
}

/// Returns the variables for all ranks that depend on the nodes.
std::vector<std::string> start_variables(const JobFilesRequest& request,
                                         std::span<const agent::JobNodeFacts> facts) {
  std::vector<std::string> variables;
  if (!has_variable(request.spec, "OMP_NUM_THREADS"))
    variables.push_back("OMP_NUM_THREADS=" + std::to_string(threads_per_process(request, facts)));
  if (const auto network = covering_network(joining_addresses(request, facts)))
    variables.push_back(std::string(agent::kJobNetwork) + "=" + *network);
  if (request.nodes.size() > 1)
    variables.push_back(std::string(agent::kJobHead) + "=" + head_address(request, facts));
  return variables;
}

std::vector<std::string> rank_environment(const JobFilesRequest& request, const JobNode& node) {
  const std::string& master = request.nodes.front().peer.address;
  std::vector<std::string> environment = node_variables(request, node);
  environment.insert(environment.end(),
                     {"FASTGPU_COMM_MASTER_ADDR=" + master, "MASTER_ADDR=" + master});
  // Output goes to a file, which Python would buffer; a user wants to see it now.
  if (!has_variable(request.spec, "PYTHONUNBUFFERED")) environment.push_back("PYTHONUNBUFFERED=1");
  const auto& own = request.spec.environment;
  environment.insert(environment.end(), own.begin(), own.end());
  return environment;
}

std::string working_directory(const JobFilesRequest& request) {
  if (request.spec.directory.empty() && !request.spec.sync.empty())
    return job_work_directory(request.id);
  return request.spec.directory;
}

/// Returns how a job can do without the Open MPI that a node lacks.
std::string ways_without_open_mpi(const JobSpec& spec) {
  std::string ways;
  if (spec.launcher == Launcher::mpirun)
    ways += ", or leave mpirun out with --launcher plain (for programs that do not use MPI)";
  if (spec.mpirun_in.empty())
    ways += ", or use an environment that has Open MPI (fastgpu env create, then --environment)";
  return ways;
}

/// Throws for the first node whose Open MPI cannot be part of this job: mpirun itself would start
/// programs that do not understand each other, or fail without the name of a node.
void check_mpirun(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts) {
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::string& node = request.nodes[i].ranks.node.value;
    const std::string& first = request.nodes[0].ranks.node.value;
    if (facts[i].mpirun.empty())
      throw Error(ErrorKind::remote, node +
                                         ": mpirun is missing: install Open MPI on every node "
                                         "(Debian, Ubuntu: apt-get install openmpi-bin)" +
                                         ways_without_open_mpi(request.spec));
    if (facts[i].mpirun != facts[0].mpirun)
      throw Error(ErrorKind::remote, node + ": mpirun is " + facts[i].mpirun + ", but " +
                                         facts[0].mpirun + " on " + first +
                                         ": it must have the same path on all nodes");
    if (facts[i].is_mpirun_silent)
      throw Error(ErrorKind::remote, node + ": " + facts[i].mpirun + " does not answer: `" +
                                         facts[i].mpirun + " --version` has not ended within " +
                                         to_string(agent::kMpirunAnswer) +
                                         ". Run it there; a file system that hangs may hold it up");
    if (facts[i].mpirun_version.empty())
      throw Error(ErrorKind::remote, node + ": `" + facts[i].mpirun +
                                         " --version` does not run as it should. Look at what it "
                                         "prints there, and at OPAL_PREFIX and LD_LIBRARY_PATH");
    if (facts[i].mpirun_version != facts[0].mpirun_version)
      throw Error(ErrorKind::remote, node + ": " + printable(facts[i].mpirun_version) + ", but " +
                                         printable(facts[0].mpirun_version) + " on " + first +
                                         ": install the same version on all nodes");
    if (i > 0 && !facts[i].has_daemon)
      throw Error(ErrorKind::remote,
                  node + ": mpirun's daemon (orted, or prted of Open MPI 5) is missing beside " +
                      facts[i].mpirun + ": install Open MPI there again" +
                      ways_without_open_mpi(request.spec));
  }
}

/// Throws for the first node whose torchrun is missing.
void check_torchrun(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts) {
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::string& node = request.nodes[i].ranks.node.value;
    const std::string python = torchrun_python(request.spec.argv);
    if (python.empty() && !facts[i].torchrun_obstacle.empty())
      throw Error(ErrorKind::remote,
                  node + ": " + printable(facts[i].torchrun_obstacle) +
                      ": make its environment again there, or name an interpreter that has "
                      "PyTorch on every node by its path (-- /opt/p/bin/python train.py)");
    if (!facts[i].torchrun_obstacle.empty())
      throw Error(
          ErrorKind::remote,
          node + ": " + printable(python) + " " + printable(facts[i].torchrun_obstacle) +
              ": it is to run torchrun (-m torch.distributed.run); name an interpreter that "
              "has PyTorch on every node, or `python` for the torchrun in PATH");
    if (!facts[i].has_torchrun)
      throw Error(ErrorKind::remote,
                  node +
                      ": torchrun is missing: use an environment that has PyTorch (fastgpu env "
                      "create, then --environment), name an interpreter that has it by its path "
                      "(-- /opt/p/bin/python train.py), or install PyTorch on every node");
  }
}

/// Whether any kernel has more ranks than cores; nodes on one machine share them.
bool is_crowded(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts) {
  auto processes = processes_by_kernel(request, facts);
  return std::ranges::any_of(
      facts, [&](const agent::JobNodeFacts& node) { return processes[node.boot_id] > node.cores; });
}

/// Returns the path relative to the home directory, where launchers run: mpirun would take a path
/// with blanks apart.
std::string ssh_config_path(const JobFilesRequest& request) {
  if (request.nodes.size() == 1) return "";
  return ".fastgpu/" + below_fastgpu(request, "ssh_config");
}

bool have_same_host_names(std::span<const agent::JobNodeFacts> facts) {
  std::set<std::string> names;
  for (const agent::JobNodeFacts& node : facts)
    if (!names.insert(node.host).second) return true;
  return false;
}

/// Returns the names of the nodes by those that launchers use, a line for each.
std::string node_names(const JobFilesRequest& request) {
  std::string text;
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    const JobNode& node = request.nodes[i];
    text += mpirun_name(node.peer, i) + " " + node.ranks.node.value + "\n";
  }
  return text;
}

OpenMpi version_of(const NodeName& node, const std::string& line) {
  try {
    return parse_open_mpi(line);
  } catch (const Error& e) {
    throw e.during(node.value);
  }
}

/// Returns the settings of the first node's parameter files if those of any node leave networks
/// out; absent otherwise.
std::optional<std::vector<std::string>> file_parameters(
    std::span<const agent::JobNodeFacts> facts) {
  const bool is_needed = std::ranges::any_of(facts, [](const agent::JobNodeFacts& node) {
    return std::ranges::any_of(node.mpi_parameters, leaves_networks_out);
  });
  return is_needed ? std::optional(facts[0].mpi_parameters) : std::nullopt;
}

MpirunPlan mpirun_plan(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts,
                       const NodeCommands& commands, const std::vector<std::string>& forward) {
  const std::string fastgpu = facts[0].home + "/.fastgpu/";
  MpirunPlan plan;
  plan.job_id = request.id;
  plan.mpirun = facts[0].mpirun;
  plan.version = version_of(request.nodes[0].ranks.node, facts[0].mpirun_version);
  plan.hostfile = fastgpu + below_fastgpu(request, "hostfile");
  plan.nodes = static_cast<int>(request.nodes.size());
  plan.ssh_config = ssh_config_path(request);
  plan.remote_shell = commands.remote_shell();
  plan.ranks = 0;
  for (const JobNode& node : request.nodes)
    plan.ranks += node.ranks.count;
  plan.network = covering_network(joining_addresses(request, facts));
  plan.file_parameters = file_parameters(facts);
  plan.root = facts[0].root;
  plan.crowded = is_crowded(request, facts);
  plan.same_host_names = have_same_host_names(facts);
  plan.forward = forward;
  plan.program = commands.rank();
  return plan;
}

agent::OnFull on_full_of(const JobSpec& spec) {
  switch (spec.on_full) {
    case FullDisk::fails:
      return agent::OnFull::fail;
    case FullDisk::drops:
      return agent::OnFull::drop;
    case FullDisk::stops:
      return agent::OnFull::stop;
  }
  return agent::OnFull::fail;
}

}  // namespace

agent::JobPlan rank_plan(const JobFilesRequest& request, const JobNode& node) {
  agent::JobPlan plan;
  plan.id = request.id;
  plan.argv = request.spec.argv;
  plan.directory = working_directory(request);
  plan.input_to_all = request.spec.input == Input::all;
  plan.has_input =
      plan.input_to_all || (request.spec.input == Input::rank_0 && node.ranks.first == 0);
  plan.grace = request.spec.grace;
  plan.keeps_processes = request.spec.leftovers == Leftovers::kept;
  plan.on_full = on_full_of(request.spec);
  plan.secrets = request.spec.secrets;
  plan.hang_timeout = request.spec.hang_timeout;
  plan.checkpoints = request.spec.checkpoints;
  for (int i = 0; i < node.ranks.count; ++i)
    plan.ranks.push_back(node.ranks.first + i);
  plan.cpus = node.ranks.cpus;
  plan.gpus = node.ranks.gpus;
  for (const JobNode& member : request.nodes) {
    plan.world_size += member.ranks.count;
    plan.ranks_by_node.push_back(member.ranks.count);
  }
  plan.starts_workers = request.spec.launcher == Launcher::torchrun;
  return plan;
}

std::vector<agent::SmallFile> rank_files(const JobFilesRequest& request, const JobNode& node) {
  std::vector<agent::SmallFile> files = {
      {below_fastgpu(request, "rank"), to_text(rank_plan(request, node))},
      {below_fastgpu(request, agent::kVariables),
       agent::variables_text(rank_environment(request, node))},
      {below_fastgpu(request, agent::kCommSecret), request.communicator_secret.reveal()}};
  if (!request.owner.empty())
    files.push_back({below_fastgpu(request, agent::kJobOwner), request.owner});
  return files;
}

std::vector<agent::SmallFile> start_files(const JobFilesRequest& request,
                                          std::span<const agent::JobNodeFacts> facts,
                                          const NodeCommands& commands) {
  const bool is_plain = request.spec.launcher == Launcher::plain;
  if (!is_plain) check_mpirun(request, facts);
  if (request.spec.launcher == Launcher::torchrun) check_torchrun(request, facts);
  agent::JobPlan plan;
  plan.id = request.id;
  plan.environment = start_variables(request, facts);
  std::vector<std::string> forward(kPortVariables.begin(), kPortVariables.end());
  for (const std::string& assignment : plan.environment)
    forward.push_back(assignment.substr(0, assignment.find('=')));
  plan.argv = is_plain ? commands.launch(ssh_config_path(request), forward)
                       : mpirun_argv(mpirun_plan(request, facts, commands, forward));
  plan.lease =
      request.spec.presence == Presence::detached ? std::chrono::milliseconds(0) : request.lease;
  plan.timeout = request.spec.timeout;
  plan.grace = request.spec.grace;
  plan.keeps_processes = request.spec.leftovers == Leftovers::kept;
  plan.port_variables.assign(kPortVariables.begin(), kPortVariables.end());
  std::vector<HostfileEntry> entries;
  std::vector<Peer> peers;
  for (const JobNode& node : request.nodes) {
    // By itself a node need not know the address by which it is reached from outside.
    const bool is_alone = request.nodes.size() == 1;
    entries.push_back(
        {is_alone ? "localhost" : mpirun_name(node.peer, entries.size()), node.ranks.count});
    peers.push_back(node.peer);
  }
  std::vector<agent::SmallFile> files;
  if (request.nodes.size() > 1) {
    files = access_files(request.access, peers, facts[0], below_fastgpu(request, ""));
    files.push_back({below_fastgpu(request, agent::kNodeNames), node_names(request)});
  }
  files.push_back({below_fastgpu(request, "hostfile"), hostfile(entries)});
  files.push_back({below_fastgpu(request, "spec"), to_text(plan)});
  return files;
}

}  // namespace fastgpu::launcher
