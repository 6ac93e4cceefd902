// A job as the user requests it, and its record.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::state {

enum class JobEngine : std::uint8_t { mpirun };
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
/// Whether a job has its slots for itself, or shares them with any other that asks for them.
enum class Sharing : std::uint8_t { exclusive, shared };
enum class Crowding : std::uint8_t {
  refused,
  allowed
};  ///< Whether there may be more ranks than slots.

struct JobSpec {
  JobName name;
  std::vector<std::string> argv;
  /// -np; if absent, the number of slots, or `per_node` for each node.
  std::optional<int> ranks{};
  std::optional<int> per_node{};           ///< --npernode
  RankUnit per = RankUnit::none;           ///< --per
  std::vector<std::string> environment{};  ///< "K=V", for every rank.
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
  int priority = 0;                  ///< Jobs of a higher priority start first.
  std::vector<std::string> after{};  ///< The ids of jobs that must have succeeded before it starts.
  Input input = Input::none;
  Leftovers leftovers = Leftovers::ended;
  JobEngine engine = JobEngine::mpirun;
  Launcher launcher = Launcher::mpirun;
};

/// The ranks of one node, numbered without a gap.
struct NodeRanks {
  NodeName node;
  int first = 0;
  int count = 0;
  int workers = 0;  ///< The processes that each of them starts itself, as torchrun does.
  /// The CPUs of each rank, "0-3,8"; empty if the ranks share the node.
  std::vector<std::string> cpus{};
};

/// The rank that failed first by itself, and so decided the outcome of its job.
struct FirstFailure {
  int rank = 0;
  NodeName node;
  std::string signal{};        ///< "SIGSEGV", if a signal ended it; else empty.
  bool out_of_memory = false;  ///< The kernel killed it because its memory was used up.
};

/// The data that is needed to find a job again. Values of environment variables may be secrets, and
/// are not stored: a record that was read has the names alone.
struct JobRecord {
  JobSpec spec;
  std::vector<NodeRanks> placement;       ///< Nodes with ranks only; the first one starts the job.
  std::vector<std::string> variables{};   ///< The names of variables of a record that was read.
  std::optional<FirstFailure> failure{};  ///< Absent before the end, and if no rank failed.
};

}  // namespace fastgpu::state
