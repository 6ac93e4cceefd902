#include "launcher/slurm_submission.hpp"

#include <chrono>
#include <utility>

#include "agent/protocol/job_folder.hpp"
#include "agent/protocol/plan.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/split.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/engines/slurm_batch.hpp"
#include "launcher/job.hpp"
#include "launcher/job_files.hpp"
#include "launcher/node_commands.hpp"
#include "launcher/slurm_script.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSubmitTimeout{60'000};
constexpr milliseconds kMarkTimeout{5'000};

/// The folder, below ~/.fastgpu, where each node leaves a file with its name.
constexpr const char* kHomesSeen = "slurm-homes/";

using Nodes = std::span<const ClusterNode>;

SlurmHome home_of(Nodes nodes) {
  return nodes.size() == 1 ? SlurmHome::shared : SlurmHome::separate;
}

std::string script_of(Nodes nodes, const RunnerOptions& options, const std::string& id,
                      const JobSpec& spec, const std::string& comment) {
  const NodeCommands commands{options.agent.hash, id};
  const SlurmHome home = home_of(nodes);
  return slurm_batch_script(id, spec, commands.slurm_rank(home, options.retention), home, comment,
                            commands.slurm_start(home));
}

NodeTask put_task(const ssh::Host& host, const RunnerOptions& options, const std::string& id,
                  const std::vector<agent::SmallFile>& files) {
  return {.host = host,
          .command = NodeCommands{options.agent.hash, id}.put_files(options.retention),
          .input = encode_files(files)};
}

/// Returns the mark of this agent and these machines, by which the head knows that they have it.
std::string mark_of(Nodes nodes, const RunnerOptions& options) {
  std::string text = options.agent.hash.value;
  for (const ClusterNode& node : nodes) {
    text += "\n" + node.host.name.value + " " + node.host.address;
    for (const std::string& key : node.host.host_keys)
      text += " " + key;
  }
  return transfer::sha256_hex(text);
}

/// The files of one job.
struct JobFiles {
  std::vector<agent::SmallFile> folder{};   ///< They make a job's folder, and have no secrets.
  std::vector<agent::SmallFile> secrets{};  ///< The variables of the ranks, and the library's key.
};

JobFiles files_for_ranks(const ClusterNode& head, const std::string& id, const JobRecord& job,
                         const std::string& owner) {
  const JobNode all{.ranks = job.placement.front(), .peer = head.peer};
  const JobFilesRequest request{.id = id,
                                .spec = job.spec,
                                .nodes = {all},
                                .access = {},
                                .communicator_secret = Secret(random_hex(32)),
                                .lease = milliseconds(0)};
  agent::JobPlan ranks = rank_plan(request, all);
  ranks.ranks_by_node.clear();  // Slurm places them.
  const std::string place = "jobs/" + id + "/";
  return {.folder = {{place + "rank", to_text(ranks)}, {place + agent::kJobOwner, owner}},
          .secrets = {
              {place + agent::kVariables, agent::variables_text(slurm_rank_variables(job.spec))},
              {place + agent::kCommSecret, request.communicator_secret.reveal()}}};
}

/// Returns the files of the head: the secrets travel with the batch script to ranks whose nodes
/// share no home directory with it.
std::vector<agent::SmallFile> files_for_head(const JobFiles& ranks, Nodes nodes,
                                             const RunnerOptions& options, const std::string& id,
                                             const JobSpec& spec) {
  agent::JobPlan whole;  // It makes the directory one of a job, whose end `status` reports.
  whole.id = id;
  whole.argv = {"sbatch"};
  whole.grace = spec.grace;
  const std::string place = "jobs/" + id + "/";
  std::vector<agent::SmallFile> for_ranks = ranks.secrets;
  for_ranks.insert(for_ranks.end(), ranks.folder.begin(), ranks.folder.end());
  std::vector<agent::SmallFile> files = for_ranks;
  if (home_of(nodes) == SlurmHome::separate) {
    files = ranks.folder;
    files.push_back({place + agent::kBatchFiles, agent::carried_files(for_ranks)});
  }
  files.push_back({place + agent::kBatchScript,
                   script_of(nodes, options, id, spec, "fastgpu-" + random_hex(16))});
  files.push_back({place + "spec", to_text(whole)});
  return files;
}

}  // namespace

SlurmSubmission::SlurmSubmission(ssh::Client& client, Nodes nodes, const RunnerOptions& options,
                                 std::string id, const JobRecord& job)
    : client_(client), nodes_(nodes), options_(options), id_(std::move(id)) {
  validate(job.spec);
  const JobFiles ranks = files_for_ranks(nodes.front(), id_, job, options.owner());
  // The files of the user are copied to all nodes, since Slurm chooses later.
  if (!job.spec.sync.empty()) for_other_nodes_ = ranks.folder;
  for_head_ = files_for_head(ranks, nodes, options, id_, job.spec);
}

StartedRun SlurmSubmission::run(const Cancel& cancel, const std::function<void()>& when_prepared) {
  const Nodes head = nodes_.first(1);
  if (!for_other_nodes_.empty()) put_files(nodes_.subspan(1), for_other_nodes_, cancel);
  put_files(head, for_head_, cancel);
  if (when_prepared) when_prepared();
  cancel.check();
  may_run_ = true;
  NodeAnswer answer = submit(cancel);
  if (is_unprepared(answer)) {
    require_own_homes(cancel);  // The nodes get the agent, too.
    put_files(head, {{kPreparedNodes, mark_of(nodes_, options_)}}, cancel);
    answer = submit(cancel);
  }
  if (const auto error = failure_of_call(answer)) {
    may_run_ = is_unclear(answer);
    throw error->during("submitting job " + id_);
  }
  return {.engine_id = parse_sbatch(answer.out), .warning = warning_of_slurm(answer)};
}

/// Writes files below ~/.fastgpu, and installs the agent where it is missing.
void SlurmSubmission::put_files(Nodes nodes, const std::vector<agent::SmallFile>& files,
                                const Cancel& cancel) {
  std::vector<NodeTask> puts;
  for (const ClusterNode& node : nodes)
    puts.push_back(put_task(node.host, options_, id_, files));
  check(ask_agent(client_, puts, options_.agent, kSubmitTimeout, cancel), "preparing job " + id_);
}

/// Throws usage if another node has the head's home directory: both would have the files of all
/// ranks.
void SlurmSubmission::require_own_homes(const Cancel& cancel) {
  std::vector<NodeTask> puts;
  for (const ClusterNode& node : nodes_)
    puts.push_back(put_task(node.host, options_, id_, {{kHomesSeen + node.host.name.value, ""}}));
  check(ask_agent(client_, puts, options_.agent, kSubmitTimeout, cancel), "preparing job " + id_);
  const ssh::Host& head = nodes_.front().host;
  const std::string folder = ".fastgpu/" + std::string(kHomesSeen);
  const NodeAnswer seen =
      ask(client_, {{.host = head, .command = "ls " + folder + " && rm -rf " + folder}},
          kSubmitTimeout, cancel)
          .front();
  check({seen}, "preparing job " + id_);
  for (const std::string_view name : split(seen.out, '\n'))
    if (!name.empty() && name != head.name.value)
      throw Error(ErrorKind::usage,
                  head.name.value + " and " + std::string(name) +
                      " share a home directory, with which the Slurm that fastgpu has set up does "
                      "not work: use --engine mpirun, or a Slurm of your own");
}

/// Submits the job, unless the nodes may lack the agent, which its ranks need.
NodeAnswer SlurmSubmission::submit(const Cancel& cancel) {
  std::vector<std::string> words = {"submit", job_directory(id_)};
  if (home_of(nodes_) == SlurmHome::separate) words.push_back(mark_of(nodes_, options_));
  return ask(client_, {slurm_task(nodes_.front().host, words)}, kSubmitTimeout, cancel).front();
}

JobTrial try_slurm_job(ssh::Client& client, Nodes nodes, const RunnerOptions& options,
                       const JobRecord& job, const Cancel& cancel) {
  validate(job.spec);
  const std::string script = script_of(nodes, options, job.spec.name.value, job.spec, {});
  const NodeAnswer answer =
      ask(client, {slurm_task(nodes.front().host, {"test", ""}, script)}, kSubmitTimeout, cancel)
          .front();
  if (const auto error = failure_of_trial(answer)) throw Error(*error);
  return {.note = words_of_slurm(answer.out), .text = script};
}

void look_for_slurm_agents_again(ssh::Client& client, const ssh::Host& head,
                                 const RunnerOptions& options, const std::string& id) {
  const Cancel never;
  ask(client, {put_task(head, options, id, {{kPreparedNodes, ""}})}, kMarkTimeout, never,
      kMarkTimeout);
}

}  // namespace fastgpu::launcher
