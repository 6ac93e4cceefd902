// The queue of a cluster's jobs, as the state directory records it.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/workflows/job_access.hpp"
#include "launcher/queue.hpp"

namespace fastgpu::cli {

/// The longest wait of a process that has a job on record for the changes of other processes to the
/// state directory: were it to fail, its job would be lost.
constexpr std::chrono::minutes kWaitForOthers{1};

/// Places the ranks of a valid `spec` on the nodes, where slots are free if all of them fit there.
/// Throws ErrorKind::usage if there are not enough slots at all.
std::vector<launcher::NodeRanks> place_among(Services& services, const state::Cluster& cluster,
                                             const std::vector<state::Node>& nodes,
                                             const launcher::JobSpec& spec);

/// Returns the choice of nodes of a job that place_among() has placed; absent for a job that waits
/// for no slots.
std::optional<launcher::PlaceChoice> choice_among(const std::vector<state::Node>& nodes,
                                                  const launcher::JobSpec& spec);

/// Returns the turn of a job that is on record, or, without an id, of one that would be recorded
/// now. Records the end of waiting jobs whose fastgpu has ended.
launcher::Turn turn_now(Services& services, const state::Job& job);

/// Returns the turns of the jobs, in their order. A job that is not queued waits for nothing, and
/// neither does one with a damaged record.
std::vector<launcher::Turn> turns_of(Services& services, const std::vector<state::Job>& jobs);

/// Returns the cores and GPUs that running jobs of a cluster have for themselves.
std::vector<launcher::HeldParts> held_now(Services& services, const state::ClusterId& cluster);

/// Places a job with a choice of nodes where it would begin now; leaves its placement as it is if
/// it has to wait for slots.
void give_place(Services& services, state::Job& job);

/// Gives the ranks of a job with --per the cores and GPUs that are free now, or puts the jobs that
/// hold them into its record. `topologies` has its nodes; empty for a job without --per.
void give_parts(Services& services, state::Job& job,
                std::span<const launcher::NodeTopology> topologies);

/// Does the second part alone, for a job that is about to wait.
void note_holders(Services& services, state::Job& job,
                  std::span<const launcher::NodeTopology> topologies);

/// Waits until it is the job's turn, places it by its choice of nodes, gives its ranks their cores
/// and GPUs, and records that it starts. `topologies` is that of give_parts(). Blocks. Throws
/// interrupted for a cancel, of this process or of the job, and remote if a job that it starts
/// after did not succeed or was deleted; then the job has ended.
void wait_for_turn(Services& services, state::Job& job,
                   std::span<const launcher::NodeTopology> topologies);

/// Records that the order to start a job is about to be sent, whose nodes are prepared. Throws
/// interrupted, and then it must not be sent, if another process has recorded the end of the job:
/// its slots may be those of another one already.
void note_order(Services& services, state::Job& job);

/// Returns true for a job that waits for its turn, and for one that its fastgpu starts now: it has
/// no files on its nodes yet.
bool is_before_its_start(Services& services, const state::Job& job);

/// Waits until a queued job runs or has ended, and returns it. Throws interrupted for a cancel, and
/// timeout after `limit`.
state::Job wait_while_queued(Services& services, const state::Job& job,
                             std::optional<std::chrono::milliseconds> limit);

/// Ends a job that waits, without asking its nodes. Returns false if it does not wait any more.
bool cancel_queued(Services& services, state::Job& job);

/// Returns the queued jobs that start after others. Records the end of those whose fastgpu has
/// ended.
std::vector<state::Job> jobs_after_others(Services& services);

/// Returns true if no fastgpu waits for the turn of this queued job any more.
bool is_forgotten(Services& services, const state::Job& job);

}  // namespace fastgpu::cli
