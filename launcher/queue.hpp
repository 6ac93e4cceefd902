// The queue of a cluster: which jobs may start, and what the others wait for. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/ends_needed.hpp"
#include "launcher/held_parts.hpp"
#include "launcher/placement.hpp"
#include "state/model.hpp"

namespace fastgpu::launcher {

/// Returns the slots of each node that no running job has for itself. Jobs that wait have none, and
/// neither have jobs that share theirs.
std::vector<NodeSlots> free_slots(std::span<const NodeSlots> nodes,
                                  std::span<const state::Job> jobs);

/// Returns the cores and GPUs that running jobs have for themselves: those of jobs with --per that
/// do not share.
std::vector<HeldParts> held_parts(std::span<const state::Job> jobs);

/// Returns the placement of a new job: on free slots if all of its ranks fit there, else where they
/// fit once other jobs have ended. Throws as place() does.
std::vector<NodeRanks> place_in_queue(std::span<const NodeSlots> nodes,
                                      std::span<const state::Job> jobs, const JobSpec& spec);

/// Returns true if all ranks of a job fit on slots that are free now.
bool fits_now(std::span<const NodeSlots> nodes, std::span<const state::Job> jobs,
              const JobSpec& spec);

/// Returns the placement of `own`, a job that is not running, if it began now: by its `choice`, on
/// slots that are free, not on silent nodes, and not on nodes to which waiting jobs go that are
/// ahead of it. Absent if it has no choice, or if its ranks do not fit there. `jobs` are those of
/// turn_of().
std::optional<std::vector<NodeRanks>> place_now(const state::Job& own,
                                                std::span<const NodeSlots> nodes,
                                                std::span<const state::Job> jobs);

/// Returns the placement of a job on the nodes of its choice as if all their slots were free;
/// absent if its ranks do not fit there.
std::optional<std::vector<NodeRanks>> place_anywhere(const JobRecord& record);

/// The reasons why a job cannot start yet, or never.
struct Turn {
  std::vector<std::string> waits_for{};  ///< Ids of jobs and arrays; empty: it may start.
  /// The running jobs in `waits_for` that hold slots, cores or GPUs, and how many of them must end.
  std::vector<std::string> holders{};
  EndsNeeded ends = EndsNeeded::all;
  /// The reason why it never starts: a job or an array that it was to start after did not succeed,
  /// or was deleted. Empty if it may start.
  std::string never{};
};

/// Returns the turn of `own`, a job that is not running. `jobs` are all jobs of its cluster, the
/// newest first, and those that any of them starts after. It waits for
/// - jobs and arrays that it starts after, until they have succeeded,
/// - running jobs, where its nodes do not have enough slots besides theirs,
/// - running jobs that hold cores or GPUs which its ranks need, as its record has them,
/// - jobs on its nodes that wait, and have a higher priority or are older. Elements that an array
///   holds back do not wait for slots, and neither do jobs before those have succeeded that they
///   start after.
/// A job with a choice of nodes begins where place_now() places it. Without such a place, its nodes
/// are all of its choice.
/// A job that shares its slots waits for no slots, and one that is started again for no success.
Turn turn_of(const state::Job& own, std::span<const NodeSlots> nodes,
             std::span<const state::Job> jobs);

/// Returns what the job waits for, as messages have it: "first-1, one of a-1, b-1".
std::string words_for(const Turn& turn);

/// Returns the jobs among `jobs` that are queued and start after `id`, a job, or after its array.
/// An array among them is named once.
std::vector<std::string> starting_after(const std::string& id, std::span<const state::Job> jobs);

}  // namespace fastgpu::launcher
