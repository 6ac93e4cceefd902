// The plan of the agent, in the files of a job directory.
//
// A job directory (0700) holds:
//   owner              the mark of the state directory that has started the job
//   spec               the supervisor's program; only on the node where the job starts
//   rank               the program of every rank on this node; only on nodes with ranks
//   variables          the environment of those ranks, secrets included; gone once they have ended
//   comm-secret        the ranks' library proves by it that they belong together; gone with them
//   lock, started      held and written by the supervisor while it lives
//   stopped            the job's end was requested, perhaps before it began
//   lease              its modification time is the last sign of life of the job's owner
//   input-<r>, input-<r>.end   pipes to a rank that is given input; input-<r>.at has the position
//   batch, batch-id, batch-end   the script by which a batch system starts the job, the number that
//                      the job has there, and its exit code; such a job has no supervisor
//   batch-files, batch-files.script   the files that the batch script carries to nodes which share
//                      no home directory, and it with them; gone once it is submitted
//   batch-news         lines "nodes LIST", the nodes of such a job, and "output" for each rank that
//                      has something to read on its node
//   launcher.out/.err  the output of the supervisor's program
//   hostfile           the names of the nodes for that program, and their ranks
//   nodes              lines "NAME-THERE NODE": the user's names of them; not for one node alone
//   status             its outcome
//   work               the files that were copied for the job
//   ranks/<r>.out/.err/.status
//   ranks/<r>.pid      the id of the rank's process, for a job that may hang
//   ranks/<r>.idle     there while the rank does nothing
//   stacks             the last answer of `job-stacks`
//   samples/<host>     how busy the node was, a line a sample (samples.hpp); <host>.lock is held by
//                      the rank that samples, and <host>.folders has the folders of the library
//   ranks/<r>.group    the control group of the rank's program, where the node has one
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The marker in the environment of all processes of a job.
inline constexpr std::string_view kJobMarker = "FASTGPU_JOB_ID";
inline constexpr std::string_view kExecMarker = "FASTGPU_EXEC_ID";

/// The signal that orders ranks to end. mpirun passes it on to the ranks of all nodes; it does so
/// for SIGTERM only after a second, and then kills them.
inline constexpr int kStopOrder = SIGURG;
inline constexpr const char* kStopOrderName = "SIGURG";

/// The variable by which ranks get the network that joins the nodes: "10.0.0.0/29". Programs do not
/// see it.
inline constexpr const char* kJobNetwork = "FASTGPU_JOB_NETWORK";

/// The variable by which ranks on other nodes get the address and the port of the supervisor, which
/// has their lease: "10.0.0.1 20433". Programs do not see it.
inline constexpr const char* kJobHead = "FASTGPU_JOB_HEAD";

inline constexpr const char* kNodeNames = "nodes";
inline constexpr const char* kStoppedMark = "stopped";
inline constexpr const char* kVariables = "variables";
inline constexpr const char* kBatchScript = "batch";
inline constexpr const char* kBatchEnd = "batch-end";
inline constexpr const char* kBatchFiles = "batch-files";
inline constexpr const char* kWholeBatchScript = "batch-files.script";
inline constexpr const char* kBatchNews = "batch-news";
inline constexpr std::string_view kNewsOfNodes = "nodes ";
inline constexpr std::string_view kNewsOfOutput = "output";
/// The rank table of HCCL, on nodes with Ascend processors.
inline constexpr const char* kRankTable = "rank-table.json";
inline constexpr const char* kCommSecret = "comm-secret";

/// The treatment of a rank when the disk of its logs is full.
enum class OnFull : std::uint8_t {
  fail,  ///< The program gets the errors of its writes.
  drop,  ///< The agent passes its output on, and drops what has no room.
  stop,  ///< The program is ended.
};

struct JobPlan {
  std::string id;  ///< The id of the job.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "K=V", added to the agent's own.
  /// The working directory, relative to the home directory; empty for the home directory.
  std::string directory;
  /// Ends the job after this long without a sign of life; 0 for never.
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds timeout{0};  ///< The job's time limit; 0 for no limit.
  /// The time between SIGTERM and SIGKILL for the program of a rank.
  std::chrono::milliseconds grace{10'000};
  /// A rank that has done nothing for this long is marked as idle; 0 for never.
  std::chrono::milliseconds hang_timeout{0};
  /// The directory for checkpoints, relative to the home directory; empty if there is none.
  std::string checkpoints;
  /// Each of these variables is set to a different free TCP port.
  std::vector<std::string> port_variables;
  std::vector<int> ranks;  ///< The ranks that run on this node.
  int world_size = 0;      ///< The number of ranks on all nodes.
  /// The number of ranks on each node, in the order of the nodes. Empty if another system places
  /// them, as Slurm does.
  std::vector<int> ranks_by_node;
  /// The CPUs of each of `ranks`, "0-3,8"; empty if they may use all of the node.
  std::vector<std::string> cpus;
  /// The GPU of each of `ranks`, by its index in the order of the PCI bus; empty if they choose.
  std::vector<int> gpus;
  /// The program starts the job's processes itself, and tells them their places: it gets neither
  /// variables of MPI nor those of a rank.
  bool starts_workers = false;
  bool has_input = false;     ///< Rank 0 reads the input from `job-input`.
  bool input_to_all = false;  ///< All other ranks read it, too.
  /// The processes that programs leave behind outlive a job that ends well.
  bool keeps_processes = false;
  OnFull on_full = OnFull::fail;
  /// The names of variables whose values are secrets: they are left out of reports.
  std::vector<std::string> secrets;
};

/// Returns the ranks of this node that read the input from `job-input`.
std::vector<int> ranks_with_input(const JobPlan& plan);

std::string to_text(const JobPlan& plan);
JobPlan parse_plan(std::string_view text);  ///< Throws remote.

/// Returns the content of the file of variables, each of them as "K=V".
std::string variables_text(const std::vector<std::string>& assignments);
std::vector<std::string> parse_variables(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
