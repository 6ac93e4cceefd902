// A job as the user requests it, and its record.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::state {

/// The system that runs a job: mpirun on the nodes of a cluster, or a scheduler, which has a queue
/// and nodes of its own.
enum class EngineKind : std::uint8_t { mpirun, slurm, kubernetes };
/// The program that starts the ranks: Open MPI's mpirun, PyTorch's torchrun (started by mpirun, one
/// on each node), or fastgpu's own, which needs no MPI on the nodes.
enum class Launcher : std::uint8_t { mpirun, torchrun, plain };
/// The part of a node that each rank has for itself; `none`: ranks share their node.
enum class RankUnit : std::uint8_t { none, core, numa, socket, gpu };
/// Whether a job ends with the fastgpu that started it, or goes on.
enum class Presence : std::uint8_t { attached, detached };
enum class Input : std::uint8_t { none, rank_0, all };  ///< The ranks that read our standard input.
/// Whether processes that programs leave behind outlive a job that ends well.
enum class Leftovers : std::uint8_t { ended, kept };
/// The treatment of a job when the disk of its logs is full: programs get the errors of their
/// writes, output is dropped, or the job is ended.
enum class FullDisk : std::uint8_t { fails, drops, stops };
/// Whether a job has its slots for itself, or shares them with any other that asks for them.
enum class Sharing : std::uint8_t { exclusive, shared };
enum class Crowding : std::uint8_t {
  refused,
  allowed
};  ///< Whether there may be more ranks than slots.

/// How many of some jobs must end before another one can begin.
enum class EndsNeeded : std::uint8_t { all, some, one };

/// Whether the outputs of a job are on the machine of the fastgpu that copies them after its end.
enum class Outputs : std::uint8_t {
  none,        ///< It copies nothing.
  awaited,     ///< They are copied once the job has ended.
  fetched,     ///< All of them are there.
  incomplete,  ///< Some, or all, could not be copied.
};

/// What ended a job.
enum class JobEndCause : std::uint8_t {
  none,       ///< It ended well, or has not ended.
  failure,    ///< A rank failed by itself.
  launcher,   ///< The program that starts the ranks failed.
  node_loss,  ///< A node was lost.
  preempted,  ///< The cloud took a node back.
  hang,       ///< No rank did anything.
  timeout,    ///< It reached its time limit.
  cancelled,  ///< The user ended it.
  contact,    ///< The machine that ran it was gone or cut off.
};

/// The place of a job in an array. The id of the array is the part of the job's id before the dot.
struct ArrayElement {
  int index = 0;
  int count = 0;                         ///< The number of elements.
  std::vector<std::string> variables{};  ///< "K=V": the parameters, for every rank.
  /// True once its process waits for its turn: an element that the array holds back has no
  /// place in the queue.
  bool is_due = false;
};

/// The part of a job that only Slurm reads. What is empty or absent is left to Slurm.
struct SlurmOptions {
  std::string partition{};
  std::string account{};
  std::string qos{};
  std::string mpi{};           ///< srun's --mpi: "pmix".
  std::optional<int> nodes{};  ///< The number of nodes.
  std::optional<int> gpus{};   ///< GPUs of each node.
  std::string gpu_type{};      ///< The site's name for their type: "a100"; empty for any.
  std::optional<int> cpus{};   ///< Cores of each rank.
  std::string memory{};        ///< The memory of each node: "64G"; "0" for all.
  std::string memory_per_cpu{};
  std::string constraint{};  ///< The features of nodes: "a100&nvlink".
  std::string reservation{};
  std::string nodelist{};  ///< The nodes that the job must have: "gpu[01-04]".
  std::string exclude{};   ///< The nodes that it must not have.
  bool exclusive = false;  ///< No other job shares its nodes.
};

/// The part of a job that only Kubernetes reads.
struct KubernetesOptions {
  std::string image{};       ///< The container image of all pods.
  std::string context{};     ///< The context of the kubeconfig; empty for the current one.
  std::string name_space{};  ///< Empty for that of the context.
  std::string memory{};      ///< The memory of each worker: "64Gi".
  std::string cpus{};        ///< The cores of each worker: "8", "500m".
  std::optional<int> workers{};
  std::optional<int> gpus{};  ///< GPUs of each worker.
};

/// An environment on the nodes, as a job uses it.
struct UsedEnvironment {
  std::string name;
  std::string prefix;
};

struct JobSpec {
  JobName name;
  std::vector<std::string> argv;
  /// -np; if absent, the number of slots, or `per_node` for each node.
  std::optional<int> ranks{};
  std::optional<int> per_node{};                      ///< --npernode
  RankUnit per = RankUnit::none;                      ///< --per
  std::vector<std::string> environment{};             ///< "K=V", for every rank.
  std::optional<UsedEnvironment> used_environment{};  ///< Absent if it runs in none.
  std::vector<std::string> secrets{};  ///< The names of variables whose values are secrets.
  /// The working directory on the nodes, relative to home. Empty for home, or for the copy of
  /// `sync` if there is one.
  std::string directory{};
  std::string mpirun_in{};  ///< A directory on the nodes whose mpirun is used, if it has one.
  std::string sync{};  ///< A local directory, which is copied to the job's directory on the nodes.
  std::chrono::milliseconds timeout{0};  ///< 0 for no timeout.
  /// --grace: the time between SIGTERM and SIGKILL for programs that are to end.
  std::chrono::milliseconds grace{10'000};
  Presence presence = Presence::attached;
  Crowding crowding = Crowding::refused;
  Sharing sharing = Sharing::exclusive;
  int priority = 0;  ///< Jobs of a higher priority start first.
  /// The ids of jobs, or of arrays, that must have succeeded before it starts.
  std::vector<std::string> after{};
  std::optional<ArrayElement> array{};  ///< Absent for a job that is not part of an array.
  Input input = Input::none;
  Leftovers leftovers = Leftovers::ended;
  FullDisk on_full = FullDisk::fails;
  EngineKind engine = EngineKind::mpirun;
  SlurmOptions slurm{};
  KubernetesOptions kubernetes{};
  Launcher launcher = Launcher::mpirun;
  int retries = 0;                      ///< It is started again at most this often,
  std::vector<JobEndCause> retry_on{};  ///< after an end for one of these causes.
  /// Ends the job if no rank does anything for this long; 0 for never.
  std::chrono::milliseconds hang_timeout{0};
  std::string checkpoints{};  ///< A directory on the nodes, relative to home; empty for none.
  /// --keep-jobs: the ended jobs whose folders its start keeps on its nodes; absent for the
  /// setting.
  std::optional<int> keep_jobs{};
  std::vector<std::string> at_end{};  ///< The flags for work here after its end: "--fetch".
};

/// The ranks of one node, numbered without a gap.
struct NodeRanks {
  NodeName node;
  int first = 0;
  int count = 0;
  int workers = 0;  ///< The processes that each of them starts itself, as torchrun does.
  /// The CPUs of each rank, "0-3,8"; empty if the ranks share the node, and before the job begins.
  std::vector<std::string> cpus{};
  /// The GPU of each rank, or worker, by its index in the order of the PCI bus; empty if the ranks
  /// choose, and before the job begins.
  std::vector<int> gpus{};
  /// The machine of the node when the ranks were started; empty if that is unknown.
  std::string instance_id{};
};

/// A node that may get ranks, and the number of slots there.
struct NodeSlots {
  NodeName name;
  int slots = 1;
  bool is_silent =
      false;  ///< It has not answered lately: only ranks that have no other place go there.
};

/// The nodes among which the ranks of a job are placed when it begins.
struct PlaceChoice {
  std::vector<NodeSlots> nodes{};
  std::optional<int> per_node{};  ///< The most ranks of a node; absent for its slots.
};

/// The rank that failed first by itself, and so decided the outcome of its job.
struct FirstFailure {
  int rank = 0;
  NodeName node;
  std::optional<int> exit_code{};  ///< 128 + N for signal N; absent if its end is unknown.
  std::string signal{};            ///< "SIGSEGV", if a signal ended it; else empty.
  bool out_of_memory = false;      ///< The kernel killed it because its memory was used up.
  std::string full_disk{};         ///< The folder of its logs, if the disk was full; else empty.
  std::vector<std::string> last_lines{};  ///< The end of its output.
};

/// A node whose disk of the logs was full: logs there are incomplete.
struct FullDiskAt {
  NodeName node;
  std::string path{};
};

/// A job in the hands of an engine that has a queue and nodes of its own.
struct EngineJob {
  std::string id{};     ///< The engine's own name for the job; empty before it has one.
  std::string nodes{};  ///< The nodes on which it runs, as the engine writes them.
  /// A random word that the engine's job has, too: without it, a job of the same name is not ours.
  /// Empty for an engine that has no use for it.
  std::string key{};
};

/// The data that is needed to find a job again. Values of environment variables may be secrets, and
/// are not stored: a record that was read has the names alone.
struct JobRecord {
  JobSpec spec;
  std::vector<NodeRanks> placement;       ///< Nodes with ranks only; the first one starts the job.
  std::vector<std::string> variables{};   ///< The names of variables of a record that was read.
  std::optional<FirstFailure> failure{};  ///< Absent before the end, and if no rank failed.
  int restarts = 0;                       ///< How often it has been started again.
  /// The time when its first run began; absent before that, and in records of an older fastgpu.
  std::optional<std::chrono::system_clock::time_point> started{};
  JobEndCause cause = JobEndCause::none;  ///< What ended it, or its last run.
  EngineJob engine_job{};                 ///< Empty with mpirun.
  bool never_began = false;               ///< True if it ended before its nodes were prepared.
  /// True while its fastgpu prepares its nodes: no order to start this run of it has been sent.
  /// False if this is not known, as in records of an older fastgpu.
  bool is_preparing = false;
  /// True if it never began because its id means another job on the nodes, which another machine or
  /// state directory has started.
  bool id_taken = false;
  std::vector<NodeName> lost_nodes{};  ///< The nodes whose loss ended it.
  std::vector<FullDiskAt> full_disks{};
  Outputs outputs = Outputs::none;
  /// True if the fastgpu that runs it has yet to write a post-mortem in case that it fails.
  bool bundle_awaited = false;
  /// The work after its end that was not done, each with the reason: "the command of --notify
  /// exited with 1".
  std::vector<std::string> not_done{};
  /// The ids of the jobs that hold cores or GPUs which its ranks need, while it waits for these.
  std::vector<std::string> part_holders{};
  EndsNeeded part_ends = EndsNeeded::all;  ///< How many of these must end.
  /// The nodes on which it may begin, while it waits: `placement` is where it would go if all of
  /// them were free. Absent for a job whose placement is final, and once it has begun.
  std::optional<PlaceChoice> choice{};
};

}  // namespace fastgpu::state
