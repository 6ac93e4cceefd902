#include "agent/jobs/rank_environment.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "agent/files/disk.hpp"
#include "agent/interfaces.hpp"
#include "agent/jobs/jax_cluster.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/search_paths.hpp"
#include "agent/jobs/slurm_ports.hpp"
#include "agent/jobs/slurm_tasks.hpp"
#include "agent/jobs/tensorflow_cluster.hpp"
#include "agent/npus.hpp"
#include "agent/options.hpp"
#include "agent/read_topology.hpp"
#include "agent/shell_level.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/numbers.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

/// Returns a number from the first variable that is set: each launcher has its own name for it.
int number_of(std::initializer_list<const char*> names, int fallback) {
  for (const char* name : names)
    if (const char* text = ::getenv(name)) return parse_number<int>(text, name);
  return fallback;
}

/// Sets the variable with the name of the secret's file, so that a program that prints its
/// environment does not show the secret. Removes a secret that this node's startup files have set,
/// because other nodes would have another one.
void name_secret(std::vector<std::string>& environment, const std::filesystem::path& directory) {
  const auto file = directory / kCommSecret;
  if (!std::filesystem::exists(file)) return;
  std::erase_if(environment, [](const std::string& assignment) {
    return assignment.starts_with("FASTGPU_COMM_SECRET=");
  });
  process::set_variable(environment, "FASTGPU_COMM_SECRET_FILE=" + file.string());
}

/// Lets MPI libraries keep their shared memory in a directory of the job, which goes with it.
void name_shared_memory(std::vector<std::string>& environment, const JobPlan& plan) {
  const auto directory = shared_memory_of(plan.id);
  try {
    make_private_directory(directory);
  } catch (const Error&) {
    return;  // There is no /dev/shm, or it belongs to another user: the library decides.
  }
  for (const char* name :
       {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"})
    process::set_variable(environment, name + ("=" + directory.string()));
}

/// Removes the networks to leave out where mpirun has set those to use: Open MPI takes one of the
/// two. The other comes from a startup file of this node, or from a file of parameters, of which
/// Open MPI 5 makes variables.
void drop_excluded_networks(std::vector<std::string>& environment) {
  if (!process::variable(environment, "OMPI_MCA_btl_tcp_if_include")) return;
  std::erase_if(environment, [](const std::string& assignment) {
    return assignment.starts_with("OMPI_MCA_btl_tcp_if_exclude=");
  });
}

/// Removes the variables by which MPI libraries find their place.
void drop_mpi(std::vector<std::string>& environment) {
  constexpr std::array kOfMpi = {"OMPI_", "PMIX_", "PMI_", "ORTE_", "PRTE_"};
  std::erase_if(environment, [&](const std::string& assignment) {
    return std::ranges::any_of(kOfMpi,
                               [&](const char* prefix) { return assignment.starts_with(prefix); });
  });
}

/// Makes NCCL, Gloo and HCCL use the interface of this node in the network that joins the nodes.
/// They would choose one by its name, which may be that of a bridge.
void name_interface(std::vector<std::string>& environment, const JobPlan& plan) {
  const auto network = process::variable(environment, kJobNetwork);
  std::erase_if(environment, [](const std::string& assignment) {
    return assignment.starts_with(std::string(kJobNetwork) + "=");
  });
  if (!network) return;
  const auto interface = interface_in(*network, own_interfaces());
  if (!interface) return;
  std::vector<std::pair<const char*, std::string>> names = {
      {"NCCL_SOCKET_IFNAME", "=" + *interface}, {"GLOO_SOCKET_IFNAME", *interface}};
  if (!npu_devices().empty()) names.emplace_back("HCCL_SOCKET_IFNAME", "=" + *interface);
  for (const auto& [name, value] : names)
    if (!process::variable(environment, name) && !process::variable(plan.environment, name))
      process::set_variable(environment, name + ("=" + value));
}

/// Sets what programs for Ascend processors read to find their place: the rank table, if the nodes
/// have one, and the processor of this rank.
void name_npus(std::vector<std::string>& environment, const std::filesystem::path& directory,
               const JobPlan& plan, const PlaceInJob& place) {
  const auto npus = npu_devices();
  if (npus.empty()) return;
  std::vector<std::string> own = {"HCCL_WHITELIST_DISABLE=1"};
  const auto table = directory / kRankTable;
  if (std::filesystem::exists(table)) own.push_back("RANK_TABLE_FILE=" + table.string());
  if (!plan.starts_workers) {
    own.push_back("RANK_ID=" + std::to_string(place.rank));
    own.push_back("RANK_SIZE=" + std::to_string(place.size));
    const auto local = static_cast<std::size_t>(place.local_rank);
    if (local < npus.size()) own.push_back("DEVICE_ID=" + std::to_string(npus[local].device));
  }
  for (const std::string& assignment : own)
    process::set_variable(environment, assignment);
}

/// Lets programs use the GPUs that the job holds on this node, and no others: shows them these in
/// the order of the node's ranks, so that a program that uses the GPU with the rank's number on the
/// node uses the one beside the rank. Sets nothing in place of a list that the job or the node has.
void name_gpus(std::vector<std::string>& environment, const JobPlan& plan) {
  constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
  if (process::variable(environment, kVisible) || process::variable(plan.environment, kVisible))
    return;
  std::vector<int> gpus;  // Ranks that share a GPU have it once.
  for (const int gpu : plan.gpus)
    if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
  std::string list;
  for (const int gpu : gpus)
    append_item(list, std::to_string(gpu), ",");
  if (!list.empty()) process::set_variable(environment, std::string(kVisible) + "=" + list);
}

/// Returns the number of ranks on each node; empty if it is not known.
std::vector<int> ranks_by_node(const JobPlan& plan) {
  if (!plan.ranks_by_node.empty()) return plan.ranks_by_node;
  const char* const of_slurm = ::getenv(kSlurmTasks);
  return of_slurm == nullptr ? std::vector<int>() : parse_slurm_tasks(of_slurm);
}

/// Returns the number of this node in the job, as the launcher has set it; -1 without one.
int number_of_node(const std::vector<std::string>& environment) {
  return to_number<int>(process::variable(environment, "NODE_RANK").value_or("")).value_or(-1);
}

/// Sets the ports of a job that Slurm places, unless its batch script has chosen them.
void name_slurm_ports(std::vector<std::string>& environment, const JobPlan& plan) {
  const char* const number = ::getenv("SLURM_JOB_ID");
  if (!plan.ranks_by_node.empty() || number == nullptr) return;
  if (process::variable(environment, "FASTGPU_COMM_MASTER_PORT")) return;
  const std::vector<int> ranks = ranks_by_node(plan);
  const int most = ranks.empty() ? 1 : *std::ranges::max_element(ranks);
  const auto ports = slurm_ports(parse_number<std::uint64_t>(number, "SLURM_JOB_ID"), most);
  process::set_variable(environment, "MASTER_PORT=" + std::to_string(ports.master));
  process::set_variable(environment,
                        "FASTGPU_COMM_MASTER_PORT=" + std::to_string(ports.communicator));
}

/// Returns the number of ranks that Slurm has placed on this node; absent if it is not known.
std::optional<int> ranks_placed_here(const std::vector<std::string>& environment,
                                     const JobPlan& plan) {
  if (!plan.ranks_by_node.empty()) return std::nullopt;
  const std::vector<int> ranks = ranks_by_node(plan);
  const int node = number_of_node(environment);
  if (node < 0 || node >= static_cast<int>(ranks.size())) return std::nullopt;
  return ranks[static_cast<std::size_t>(node)];
}

/// Sets the number of ranks on this node where Slurm has chosen it: nodes may have different ones.
void name_local_size(std::vector<std::string>& environment, const JobPlan& plan) {
  if (const auto here = ranks_placed_here(environment, plan))
    process::set_variable(environment, "LOCAL_WORLD_SIZE=" + std::to_string(*here));
}

/// Lets TensorFlow's cluster resolver find all workers, unless the job names them itself. Without
/// this each rank would train a model of its own, and the job would succeed. As for MASTER_ADDR, a
/// value of this node's startup files does not count: other nodes would have another one.
void name_tensorflow_workers(std::vector<std::string>& environment, const JobPlan& plan,
                             const PlaceInJob& place) {
  if (process::variable(plan.environment, kTensorflowConfig)) return;
  const auto cluster = tensorflow_cluster(environment, ranks_by_node(plan));
  if (!cluster) return;
  const TensorflowWorker worker{
      .rank = place.rank, .node = number_of_node(environment), .on_node = place.local_rank};
  if (const auto config = tensorflow_config(*cluster, worker))
    process::set_variable(environment, std::string(kTensorflowConfig) + "=" + *config);
}

}  // namespace

PlaceInJob find_place_in_job() {
  const PlaceInJob place{number_of({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}, -1),
                         number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0),
                         number_of({"OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1)};
  if (place.rank < 0)
    throw Error(ErrorKind::usage,
                "no rank: OMPI_COMM_WORLD_RANK is not set (start this by mpirun)");
  return place;
}

PlaceInJob parse_place_in_job(const std::string& text) {
  const auto first = text.find(':');
  const auto second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (second == text.npos)
    throw Error(ErrorKind::usage, "--place '" + printable(text) + "' is not RANK:LOCAL_RANK:SIZE");
  return {parse_number<int>(text.substr(0, first), "--place"),
          parse_number<int>(text.substr(first + 1, second - first - 1), "--place"),
          parse_number<int>(text.substr(second + 1), "--place")};
}

std::optional<int> slurm_ranks_here(const JobPlan& plan) {
  return ranks_placed_here(process::current_environment(), plan);
}

std::vector<std::string> rank_environment(const std::filesystem::path& directory,
                                          const JobPlan& plan, const PlaceInJob& place) {
  auto environment = process::current_environment();
  std::erase_if(environment, [](const std::string& assignment) {
    return assignment.starts_with(std::string(kJobHead) + "=");
  });
  restore_login_paths(environment);
  enter_shell(environment);
  name_secret(environment, directory);
  name_shared_memory(environment, plan);
  drop_excluded_networks(environment);
  name_interface(environment, plan);
  name_npus(environment, directory, plan, place);
  name_gpus(environment, plan);
  name_slurm_ports(environment, plan);
  name_local_size(environment, plan);
  const auto set = [&](const std::string& name, const std::string& value) {
    process::set_variable(environment, name + "=" + value);
  };
  // Sets our own names, and those that training scripts read.
  if (plan.starts_workers) drop_mpi(environment);
  for (const char* prefix : {"FASTGPU_", ""}) {
    if (plan.starts_workers) break;
    set(std::string(prefix) + "RANK", std::to_string(place.rank));
    set(std::string(prefix) + "LOCAL_RANK", std::to_string(place.local_rank));
    set(std::string(prefix) + "WORLD_SIZE", std::to_string(place.size));
  }
  if (!plan.checkpoints.empty())
    set("FASTGPU_CHECKPOINT_DIR", below_home(plan.checkpoints).string());
  if (!plan.cpus.empty()) {
    set("FASTGPU_CPUS", cpu_list(allowed_cpus()));
    set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");  // The order in which ranks got the GPUs.
  }
  for (const std::string& assignment : plan.environment)
    process::set_variable(environment, assignment);
  set(std::string(kJobMarker), plan.id);
  if (plan.starts_workers) return environment;
  name_tensorflow_workers(environment, plan, place);
  if (const auto variable = jax_variable(environment))
    process::set_variable(environment, *variable);
  return environment;
}

}  // namespace fastgpu::agent
